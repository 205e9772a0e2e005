"""Rows summed up over the seeds, in words and as a page."""

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.cli.app import app
from emulator.cli.commands.sweep_tables import summary_of
from emulator.judging.campaigns.campaign_page import page_of
from emulator.judging.campaigns.cell_text import percent, spread_words
from emulator.judging.campaigns.cells import Spread, axes_of, cells_of, measures_of
from emulator.judging.campaigns.dataset import About, UnusableCampaign, writing
from emulator.judging.campaigns.report import write_report
from emulator.judging.campaigns.row import CheckRow, Row
from emulator.judging.campaigns.space import Axis, Space


def row(cell: int, seed: int, lost: int | None = 0, **more: object) -> Row:
    verdict = "violated" if lost else "held"
    reported = {
        "scenario": "s", "kafka_version": "2.8", "number": 10 * cell + seed, "cell": cell, "seed": seed,
        "settings": {"acks": "all" if cell else "1"}, "parameters": {}, "faults": (), "valid": "true", "code": 0,
        "lost": lost, "acknowledged": 8, "checks": (CheckRow("lost-acknowledged", verdict, True, lost or 0, 8),),
        "replay": f"faultline run s --seed {seed} --set acks={'all' if cell else '1'}", "outcome": f"o{lost}",
    }  # fmt: skip
    return msgspec.convert({**reported, **more}, Row)


ROWS = [row(1, 1), row(1, 2), row(0, 3, 3), row(0, 2, 1), row(0, 1), row(0, 4, 7, unknown_because=("late",))]


def test_a_cell_has_counts_amounts_and_the_replay_of_the_first() -> None:
    """Independent of the scenario's expectations and of the order of rows.
    Empty values are left out, and counted.
    """
    losing, safe = cells_of(ROWS)
    assert (losing.runs, losing.judged, dict(losing.unknown)) == (4, 3, {"late": 1})
    assert losing.spread("lost") == Spread(3, 2, 0, 1, 3)
    [broken] = losing.broken
    assert (broken.check, broken.runs, broken.of) == ("lost-acknowledged", 2, 3)
    assert broken.replay == "faultline run s --seed 2 --set acks=1"
    assert losing.replay == "faultline run s --seed 1 --set acks=1"
    assert safe.broken == () and safe.spread("lost").share == 0
    assert axes_of([losing, safe]) == {"acks": ["1", "all"]}
    assert measures_of([losing, safe]) == ["acknowledged", "lost"]


def test_a_run_unknown_for_one_reason_twice_is_one_run() -> None:
    """Two cuts that met no traffic, or one wait that two moments were the end of."""
    twice = "step 3: wait 'caught up' timed out after 2 s, at {} s; set may_time_out: true to allow it"
    [cell] = cells_of([row(0, 1, unknown_because=("late", "late")),
                       row(0, 2, unknown_because=(twice.format(2.5), twice.format(6.5)))])  # fmt: skip
    assert list(cell.unknown.values()) == [1, 1]


def test_unknown_cells_are_not_among_those_that_keep_a_promise() -> None:
    silent = [row(2, 1, error="not played to its end"), row(3, 1, unknown_because=("late",))]
    lines = summary_of(cells_of([*ROWS, *silent]))
    assert lines[0].startswith("lost-acknowledged: broken in 1 of 2 cells with a conclusive run")
    assert summary_of(cells_of(ROWS))[0].startswith("lost-acknowledged: broken in 1 of 2 cells, of the worst in")


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_a_spread_is_that_of_the_values(values: list[int]) -> None:
    [cell] = cells_of(row(0, seed, lost) for seed, lost in enumerate(values))
    spread = cell.spread("lost")
    assert (spread.low, spread.high, spread.above) == (min(values), max(values), sum(v > 0 for v in values))
    assert spread.low <= spread.median <= spread.high  # type: ignore[operator]


@pytest.mark.parametrize(
    ("measure", "spread", "runs", "words"),
    [
        ("lost", Spread(4, 0, 0, 0, 0), 4, "0"),
        ("lost", Spread(4, 4, 3, 3, 3), 4, "3"),
        ("lost", Spread(4, 1, 0, 0, 4), 4, "0–4 in 25%"),
        ("lost", Spread(0, 0, None, None, None), 4, "–"),
        ("time_to_new_leader_ms", Spread(4, 4, 5084.0, 5500.0, 6240.0), 4, "5.1–6.2 s"),
        ("time_to_new_leader_ms", Spread(3, 3, 5084.0, 5100.0, 5090.0), 4, "5.1 s in 75%"),
        ("unavailable_ms.az-0", Spread(2, 2, 120_000.0, 1.0, 121_000.0), 2, "120–121 s"),
    ],
)
def test_a_spread_in_words(measure: str, spread: Spread, runs: int, words: str) -> None:
    assert spread_words(measure, spread, runs) == words


def test_a_share_is_never_none_of_some_nor_all_of_less() -> None:
    assert [percent(1, 1000), percent(999, 1000), percent(0, 9), percent(9, 9), percent(1, 3), percent(0, 0)] == [
        "<1%", ">99%", "0%", "100%", "33%", "0%"
    ]  # fmt: skip


class Elements(HTMLParser):
    """Every element is closed, and every id is one."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name == "popovertarget":
                self.targets.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_has_every_cell_its_command_and_nothing_from_elsewhere() -> None:
    page = page_of("<s>: what came of it", ["Kafka 2.8 & more"], cells_of(ROWS))
    elements = Elements(page)
    assert elements.open == [] and len(set(elements.ids)) == len(elements.ids)
    assert set(elements.targets) == set(elements.ids) == {"c0", "c1"}
    assert "<h1>&lt;s&gt;: what came of it</h1>" in page and "Kafka 2.8 &amp; more" in page
    assert "0–3 in 67%" in page and "<td>2 of 3</td>" in page and "acknowledged: 8" in page
    assert "faultline run s --seed 2 --set acks=1" in page and "<td>1</td><td>late</td>" in page
    assert not re.search(r"(?:src|href)=|url\(|@import|https?:", page)


def test_of_one_cell_the_page_has_its_outcomes_the_rarest_first() -> None:
    page = page_of("s", [], cells_of([row(0, 1), row(0, 2), row(0, 3, 1)]))
    assert page.index("--seed 3") < page.index("--seed 1 ", page.index("<h2>Outcomes")) and "By settings" not in page


@pytest.mark.parametrize(
    ("seeds", "only", "reported"),
    [
        (2, 0, "Kafka 2.8; seeds 1 to 2 of each cell;"),
        (4, 3, "Kafka 2.8; 3 of 8 runs, drawn at random from seeds 1 to 4 of each cell;"),
        (4, 6, "Kafka 2.8; 6 of 8 runs, drawn at random from seeds 1 to 4 of each cell, of which 3 are there;"),
        (4, 0, "Kafka 2.8; seeds 1 to 4 of each cell, of which 3 of 8 runs are there;"),
    ],
)
def test_a_page_names_its_runs(tmp_path: Path, seeds: int, only: int, reported: str) -> None:
    """Of a sample, and of a campaign that goes on still, it is not all of them."""
    space = Space(scenario="s", axes=(Axis("setting", "acks", ("1", "all")),), seeds=seeds)
    rows = ROWS[1:5] if seeds == 2 else ROWS[1:4]
    with writing(tmp_path / "c", About(command="sweep", space=space, scenario_digest="1", only=only)) as campaign:
        for one in rows:
            campaign.add(one)
    assert reported in write_report(tmp_path / "c").read_text()


def test_report_of_a_campaign_is_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = About(command="sweep", space=Space(scenario="s", seeds=4), scenario_digest="1")
    with writing(tmp_path / "c", about) as campaign:
        pass
    with pytest.raises(UnusableCampaign, match="has no run yet"):
        write_report(tmp_path / "c")
    with writing(tmp_path / "c", about) as campaign:
        for one in ROWS:
            campaign.add(one)
    assert app(["report", str(tmp_path / "c")], result_action="return_value") == 0
    assert capsys.readouterr().out == f"{tmp_path}/c/report.html\n"
    assert "seeds 1 to 4 of each cell" in (tmp_path / "c" / "report.html").read_text()
    (tmp_path / "c" / "campaign.json").write_text("{}")
    assert app(["report", str(tmp_path / "c")], result_action="return_value") == 2
    assert capsys.readouterr().err.startswith(f"faultline report: {tmp_path}/c/campaign.json: is no campaign's")
