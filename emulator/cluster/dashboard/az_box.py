"""One AZ as a box: its nodes with a mark and a note each, and the counts of its clients."""

from typing import NamedTuple

from emulator.cluster.cluster_status import NodeView
from emulator.cluster.dashboard.canvas import Canvas
from emulator.cluster.dashboard.rates import ClientFigures
from emulator.topology import broker_name

ROLES_FIRST = ("broker", "controller", "session", "client")
FRAME, TITLE = "grey50", "bold cyan"
GOOD, DOUBT, BAD, FAINT = "green", "yellow", "bold red", "grey50"
CONTROLLER = "bold medium_purple1"
SHORT_ROLES = {"leading": "leads", "following": "follow", "looking": "looks"}
KILO = 10_000
STALE_RECORDS = 10
"""Records of the metadata log that a node may lack without a note: about 5 s of no-ops."""


class Note(NamedTuple):
    """Text beside a node's name; `forms` from the longest to the shortest."""

    forms: tuple[str, ...]
    style: str


def ordered(nodes: dict[str, NodeView]) -> list[tuple[str, NodeView]]:
    """Brokers, controllers, session servers, clients."""
    ranks = {role: rank for rank, role in enumerate(ROLES_FIRST)}
    return sorted(nodes.items(), key=lambda item: min((ranks.get(role, 9) for role in item[1].roles), default=9))


def mark(node: NodeView) -> tuple[str, str]:
    """(character, style) of a node."""
    if not node.alive:
        return ("✕", BAD) if node.incarnation else ("·", FAINT)
    if node.paused:
        return "‖", DOUBT
    return ("●", GOOD) if node.answered else ("○", DOUBT)


class Quorum(NamedTuple):
    """A KRaft cluster's newest state, by the nodes that answered.

    `fenced`: brokers that the active controller of the highest epoch has fenced. `high_watermark`: the highest.
    """

    fenced: frozenset[str] = frozenset()
    high_watermark: int = -1


def quorum_of(nodes: dict[str, NodeView]) -> Quorum:
    """State of the quorum; without one nothing is fenced or stale."""
    known = [node.quorum for node in nodes.values() if node.quorum is not None]
    active = [(node.controller_epoch, node.quorum) for node in nodes.values() if node.is_controller and node.quorum]
    fenced = max(active, key=lambda one: one[0])[1].fenced if active else []
    newest = max((one.high_watermark for one in known), default=-1)
    return Quorum(frozenset(map(broker_name, fenced)), newest)


def note(name: str, node: NodeView, quorum: Quorum, *, contradicted: bool) -> Note:
    """A node's note about its state. `contradicted`: another node also claims to be controller."""
    if not node.alive:
        return Note(("dead",), BAD) if node.incarnation else Note(("not started", "off"), FAINT)
    if node.paused:
        return Note(("paused",), DOUBT)
    if not node.answered:
        return Note(("no answer", "silent"), DOUBT)
    if node.is_controller:
        epoch = node.controller_epoch
        return Note((f"controller e{epoch}", f"ctrl e{epoch}", f"e{epoch}"), BAD if contradicted else CONTROLLER)
    if name in quorum.fenced:
        return Note(("fenced",), BAD)
    if node.quorum is not None and 0 <= node.quorum.high_watermark < quorum.high_watermark - STALE_RECORDS:
        behind = quorum.high_watermark - node.quorum.high_watermark
        return Note((f"stale by {behind}", "stale"), DOUBT)
    if node.session is not None and node.session.state != "connected":
        state = node.session.state
        return Note((f"session {state}", state, "no session", "cut off"), DOUBT)
    if node.ensemble is not None:
        role = node.ensemble.role
        style = {"leading": "cyan", "following": FAINT}.get(role, DOUBT)
        return Note((role, SHORT_ROLES.get(role, "")), style)
    return Note(("",), "")


def draw_box(
    canvas: Canvas,
    x: int,
    y: int,
    width: int,
    height: int,
    az: str,
    nodes: dict[str, NodeView],
    figures: ClientFigures | None,
    quorum: Quorum,
    *,
    contradicted: bool,
) -> None:
    """Draw a box of that size. Where not all nodes fit, a line has the number of the others."""
    canvas.box(x, y, width, height, az, FRAME, TITLE)
    inner = width - 4
    lines = height - 2 - (figures is not None)
    shown = ordered(nodes)
    if len(shown) > lines:
        shown = shown[: max(0, lines - 1)]
        canvas.put(x + 2, y + height - 2 - (figures is not None), f"and {len(nodes) - len(shown)} more", FAINT)
    for line, (name, node) in enumerate(shown, start=y + 1):
        character, style = mark(node)
        canvas.put(x + 2, line, character, style)
        canvas.put(x + 4, line, name[: inner - 2], "" if node.answered else FAINT)
        shown_note = note(name, node, quorum, contradicted=contradicted)
        room = inner - 2 - len(name) - 1
        text = next((form for form in shown_note.forms if len(form) <= room), "")
        canvas.put(x + 2 + inner - len(text), line, text, shown_note.style)
    if figures is not None:
        _draw_figures(canvas, x + 2, y + height - 2, inner, figures)


def lines_needed(nodes: dict[str, NodeView], figures: ClientFigures | None) -> int:
    """Lines of a box that shows every node."""
    return len(nodes) + (figures is not None) + 2


def _draw_figures(canvas: Canvas, x: int, y: int, width: int, figures: ClientFigures) -> None:
    parts = [
        ("✓", figures.acked, GOOD),
        ("✗", figures.failed, BAD if figures.failed else FAINT),
        ("?", figures.unknown, DOUBT if figures.unknown else FAINT),
    ]
    if figures.read:
        parts.append(("↓", figures.read, "cyan"))
    wide = [(f"{sign} {_short(count)} ", style) for sign, count, style in parts]
    narrow = [(f"{sign}{_short(count)} ", style) for sign, count, style in parts]
    fits = sum(len(text) for text, _ in wide) + 2 * figures.per_s <= width
    for text, style in wide if fits else narrow:
        canvas.put(x, y, text, style)
        x += len(text)
    canvas.put(x, y, "/s" if figures.per_s else "", FAINT)


def _short(count: float) -> str:
    return f"{count:.0f}" if count < KILO else f"{count / 1000:.0f}k"
