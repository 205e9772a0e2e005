"""A campaign's HTML page: violations by version and settings, shares, replay commands.

One file without dependencies: a heat map of each measure that differs between cells, and a table of broken promises. A
cell is a button that opens all facts about the cell; it works without a script.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from itertools import product

from emulator.judging.campaigns.cell_text import ABSENT, meaning_of, percent, spread_words, title_of
from emulator.judging.campaigns.cells import HARM, Cell, axes_of, choice_of, measures_of

CELLS_MAX = 2_000
"""Maximum of cells drawn; of more the page lists the broken promises alone."""
BROKEN_MAX = 200
OUTCOMES_MAX = 20
REASONS_MAX = 10


def page_of(title: str, description: Sequence[str], cells: Sequence[Cell]) -> str:
    """The page. `description`: lines below the title that describe the options."""
    axes = axes_of(cells)
    drawn = cells if len(cells) <= CELLS_MAX else ()
    parts = [_head(title, description, cells), _maps(drawn, axes), _broken(cells, axes), _unknown(cells)]
    if len(cells) == 1:
        parts.append(_outcomes(cells[0]))
    parts += [_card(cell, axes) for cell in drawn]
    if not drawn:
        parts.append(f'<p class="note">{len(cells)} cells are too many to draw; query them with faultline sql.</p>')
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    script = files(__package__).joinpath("page.js").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n<body><main>\n"
        + "\n".join(part for part in parts if part)
        + f"\n</main>\n<script>\n{script}</script></body></html>\n"
    )


def _head(title: str, description: Sequence[str], cells: Sequence[Cell]) -> str:
    runs, judged = sum(cell.runs for cell in cells), sum(cell.judged for cell in cells)
    lines = [*description, f"{runs} runs in {len(cells)} cell{'s' if len(cells) != 1 else ''}; {judged} conclusive"]
    return f"<header><h1>{escape(title)}</h1>{''.join(f'<p>{escape(line)}</p>' for line in lines)}</header>"


def _broken(cells: Sequence[Cell], axes: dict[str, list[str]]) -> str:
    found = [(broken, cell) for cell in cells for broken in cell.broken]
    if not found:
        return "<h2>What breaks</h2><p>No promise was broken in any conclusive run.</p>"
    found.sort(key=lambda one: (-one[0].runs / one[0].of, one[0].check, one[1].number))
    rows = [
        f'<tr><th scope="row">{escape(broken.check)}</th>{_choice(cell, axes)}'
        f'<td class="share" style="--heat:{broken.runs / broken.of:.3f}">{percent(broken.runs, broken.of)}</td>'
        f"<td>{broken.runs} of {broken.of}</td><td>{_command(broken.replay)}</td></tr>"
        for broken, cell in found[:BROKEN_MAX]
    ]
    more = f'<p class="note">and {len(found) - BROKEN_MAX} more</p>' if len(found) > BROKEN_MAX else ""
    head = ("promise", *map(_axis_title, axes), "share", "runs", "play the first of them again")
    return f"<h2>What breaks</h2>{_table('Promises that were broken, by share of runs', head, rows, 'lines')}{more}"


def _unknown(cells: Sequence[Cell]) -> str:
    why: Counter[str] = Counter()
    for cell in cells:
        why.update(cell.unknown)
    if not why:
        return ""
    rows = [f"<tr><td>{count}</td><td>{escape(text)}</td></tr>" for text, count in why.most_common(REASONS_MAX)]
    more = f'<p class="note">and {len(why) - REASONS_MAX} reasons more</p>' if len(why) > REASONS_MAX else ""
    return f"<h2>Inconclusive runs</h2>{_table('Why they are left out', ('runs', 'because'), rows)}{more}"


def _outcomes(cell: Cell) -> str:
    """Of a single cell: seeds with the same outcome, the rarest first."""
    if len(cell.outcomes) < 2:
        return ""
    groups = sorted(cell.outcomes.values(), key=lambda one: (one.runs, one.seed))
    rows = [
        f"<tr><td>{percent(one.runs, cell.judged)}</td><td>{one.runs}</td><td>{_command(one.replay)}</td></tr>"
        for one in groups[:OUTCOMES_MAX]
    ]
    head = ("share", "runs", "play the first of them again")
    more = f'<p class="note">and {len(groups) - OUTCOMES_MAX} more</p>' if len(groups) > OUTCOMES_MAX else ""
    return f"<h2>Outcomes</h2>{_table('Runs with the same outcome, the rarest first', head, rows, 'lines')}{more}"


# --- heat maps ---


def _maps(cells: Sequence[Cell], axes: dict[str, list[str]]) -> str:
    if len(cells) < 2 or not axes:
        return ""
    same, parts = [], []
    found = measures_of(cells)
    for measure in sorted(found, key=lambda name: name not in HARM):  # harm comes first
        words = {spread_words(measure, cell.spread(measure), cell.judged) for cell in cells}
        if len(words) == 1:
            same.append(f"{title_of(measure)}: {words.pop()}")
        else:
            parts.append(_map(measure, cells, axes))
    alike = f'<p class="note">The same in every cell: {escape("; ".join(same))}.</p>' if same else ""
    return f'<h2>By settings</h2><div class="maps">{"".join(parts)}</div>{alike}'


def _map(measure: str, cells: Sequence[Cell], axes: dict[str, list[str]]) -> str:
    """A heat map. Rows: all axes but the last; columns: its values."""
    *upper, last = axes
    by_choice = {tuple(choice_of(cell).get(name, ABSENT) for name in axes): cell for cell in cells}
    values = {name: [*found, *([ABSENT] if _lacking(name, cells) else [])] for name, found in axes.items()}
    top = max((cell.spread(measure).high or 0.0 for cell in cells), default=0.0)
    rows = []
    for chosen in product(*(values[name] for name in upper)):
        found = [by_choice.get((*chosen, value)) for value in values[last]]
        if any(found):
            names = "".join(f'<th scope="row">{escape(value)}</th>' for value in chosen)
            rows.append(f"<tr>{names}{''.join(_square(measure, cell, top) for cell in found)}</tr>")
    corner = "".join(f'<th scope="col" rowspan="2">{_axis_title(name)}</th>' for name in upper)
    head = (
        f'<thead><tr>{corner}<th scope="colgroup" colspan="{len(values[last])}">{_axis_title(last)}</th></tr>'
        f"<tr>{''.join(f'<th scope=col>{escape(value)}</th>' for value in values[last])}</tr></thead>"
    )
    kind = "harm" if measure in HARM else "plain"
    return (
        f'<section class="map {kind}"><h3>{escape(title_of(measure))} <small>{escape(meaning_of(measure))}</small></h3>'
        f'<div class="scroll"><table><caption class="unseen">{escape(title_of(measure))} by settings</caption>{head}'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _lacking(name: str, cells: Iterable[Cell]) -> bool:
    return any(name not in choice_of(cell) for cell in cells)


def _square(measure: str, cell: Cell | None, top: float) -> str:
    """A cell of a heat map. Heat: the median by the largest value, raised if a run is above 0."""
    if cell is None:
        return '<td class="heat"></td>'
    spread = cell.spread(measure)
    heat = (spread.median or 0.0) / top if top else 0.0
    if spread.above:
        heat = max(heat, 0.15 + 0.35 * spread.share * bool(measure in HARM))
    words = spread_words(measure, spread, cell.judged) if cell.judged else "inconclusive"
    return (
        f'<td class="heat" style="--heat:{heat:.3f}"><button type="button" popovertarget="c{cell.number}">'
        f"{escape(words)}</button></td>"
    )


def _card(cell: Cell, axes: dict[str, list[str]]) -> str:
    """All facts about one cell."""
    chosen = ", ".join(f"{name}={value}" for name, value in choice_of(cell).items() if name in axes)
    measures = "".join(
        f"<tr><th scope=row>{escape(title_of(name))}</th>"
        f"<td>{escape(spread_words(name, cell.spread(name), cell.judged))}</td></tr>"
        for name in cell.measures
    )
    broken = "".join(
        f"<li>{escape(one.check)}: {one.runs} of {one.of}<br>{_command(one.replay)}</li>" for one in cell.broken
    )
    return (
        f'<div popover id="c{cell.number}" class="card"><h3>{escape(chosen or cell.scenario)}</h3>'
        f"<p>{cell.runs} runs, {cell.judged} conclusive. The first: {_command(cell.replay)}</p>"
        f"<table>{measures}</table>{f'<h4>Broken</h4><ul>{broken}</ul>' if broken else ''}"
        f'<button type="button" popovertarget="c{cell.number}" popovertargetaction="hide">Close</button></div>'
    )


# --- pieces ---


def _choice(cell: Cell, axes: Iterable[str]) -> str:
    chosen = choice_of(cell)
    return "".join(f"<td>{escape(chosen.get(name, ABSENT))}</td>" for name in axes)


def _axis_title(name: str) -> str:
    return "Kafka" if name == "kafka_version" else escape(name)


def _command(command: str) -> str:
    return f"<code>{escape(command)}</code>"


def _table(caption: str, head: Iterable[str], rows: Iterable[str], kind: str = "") -> str:
    columns = "".join(f'<th scope="col">{name}</th>' for name in head)
    return (
        f'<div class="scroll {kind}"><table><caption class="unseen">{escape(caption)}</caption>'
        f"<thead><tr>{columns}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
