"""Faults of schedules with transactions: of clients, coordinators and markers.

As in `fault_generator`: each function adds its steps, or none if they are not possible now.
"""

from typing import Final

from emulator.judging.fuzzing.fault_generator import LEADS, Fault
from emulator.judging.fuzzing.schedule import LOAD, RETURN_S, Schedule
from emulator.scenario import scenario_model as m

CLIENT_MESSAGES = (
    "EndTxn", "EndTxn", "Produce", "Produce", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit",
    "InitProducerId",
)  # fmt: skip
LATE_MESSAGES = ("EndTxn", "EndTxn", "EndTxn", "Produce", "Produce", "AddPartitionsToTxn", "TxnOffsetCommit")
"""Requests that others overtake."""
BROKER_MESSAGES = ("WriteTxnMarkers", "WriteTxnMarkers", "AddPartitionsToTxn", "Fetch")
LATE_MS: Final = (3_000, 6_000, 15_000, 35_000)
"""Delays of one request: beyond the shorter and the longer request time-outs of the clients."""
LATE_S: Final = ((1.0, 4.0), (4.0, 8.0))
"""Time for which requests become late; later ones arrive before them."""
PAUSE_S: Final = ((3.0, 8.0), (11.0, 16.0), (20.0, 26.0))
"""Pauses of a client: within its session and time-out, beyond one of them, beyond both."""


def _coordinator(s: Schedule) -> str:
    """The likely coordinator of transactions, mostly the first replica that runs."""
    running = [name for name in s.cluster.coordinators if s.is_well(name)]
    return s.one(running or list(s.cluster.coordinators), LEADS)


def _link(s: Schedule, message: str) -> m.PairLinks:
    """Link from a client to the broker that the message is likely for."""
    if message in ("EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn", "InitProducerId"):
        broker = _coordinator(s)
    else:
        broker = s.one(s.well_replicas or list(s.cluster.replicas), LEADS)
    return m.PairLinks(between=(s.draw.choice(s.cluster.clients), broker))


def client_delay(s: Schedule) -> None:
    """One kind of request of a client is late."""
    message = s.draw.choice(CLIENT_MESSAGES)
    late_ms = s.draw.choice(LATE_MS)
    links = _link(s, message)
    s.add(m.Delay(links=links, apis=(message,), delay_ms=late_ms, at_s=s.at_s, expects_traffic=False))


def client_hold(s: Schedule) -> None:
    """A client's frames wait for the heal: all, or one kind of request."""
    message = s.draw.choice(CLIENT_MESSAGES)
    apis = (message,) if s.draw.random() < 0.7 else ()
    s.add(m.Hold(links=_link(s, message), apis=apis, at_s=s.at_s, expects_traffic=False))


def client_cut(s: Schedule) -> None:
    """A client and a broker do not reach each other."""
    s.cut(_link(s, s.draw.choice(CLIENT_MESSAGES)))


def client_pause(s: Schedule) -> None:
    """A client stands still until a later step."""
    running = [name for name in s.cluster.clients if name not in s.paused]
    if running:
        s.pause(s.draw.choice(running))


def marker_delay(s: Schedule) -> None:
    """Markers, or a leader's questions to the coordinator, are late."""
    if len(s.cluster.ranked) < 2:
        return
    coordinator = _coordinator(s)
    other = s.draw.choice([name for name in s.cluster.ranked if name != coordinator])
    message, late_ms = s.draw.choice(BROKER_MESSAGES), s.draw.choice(LATE_MS)
    links = m.PairLinks(between=(coordinator, other))
    s.add(m.Delay(links=links, apis=(message,), delay_ms=late_ms, at_s=s.at_s, expects_traffic=False))


def coordinator_dies(s: Schedule) -> None:
    """The likely coordinator dies, and mostly comes back."""
    name = _coordinator(s)
    if not s.is_well(name) or len(s.well) < 2:
        return
    s.kill(name)
    if s.draw.random() < 0.7:
        s.later(RETURN_S, RETURN_S + 6.0)
        s.start(name)


# --- sequences ---


def late_request(s: Schedule) -> None:
    """Requests of one kind are late for some seconds; those after the heal overtake them."""
    message = s.draw.choice(LATE_MESSAGES)
    links = _link(s, message)
    late_ms = s.draw.choice(LATE_MS)
    s.add(m.Delay(links=links, apis=(message,), delay_ms=late_ms, at_s=s.at_s, expects_traffic=False))
    s.later(*s.draw.choice(LATE_S))
    s.heal(links)
    s.later(late_ms / 2_000.0, late_ms / 1_000.0)


def late_before_the_end(s: Schedule) -> None:
    """Requests are late, and the producers end meanwhile, so that nothing of theirs follows."""
    message = s.draw.choice(("Produce", "Produce", "Produce", "EndTxn"))
    links = _link(s, message)
    late_ms = s.draw.choice(LATE_MS)
    s.add(m.Delay(links=links, apis=(message,), delay_ms=late_ms, at_s=s.at_s, expects_traffic=False))
    s.later(*s.draw.choice(LATE_S))
    s.behind(f"the end at {s.at_s:g}", m.StopWorkload(name=LOAD, at_s=s.at_s))
    s.later(0.5, 3.0)
    s.heal(links)
    s.later(late_ms / 2_000.0, late_ms / 1_000.0)


def sleeping_client(s: Schedule) -> None:
    """A client stands still, perhaps beyond its transaction's time-out, and goes on."""
    running = [name for name in s.cluster.clients if name not in s.paused]
    if not running:
        return
    name = s.draw.choice(running)
    s.pause(name)
    s.later(*s.draw.choice(PAUSE_S))
    s.resume(name)


def cut_off_coordinator(s: Schedule) -> None:
    """The coordinator loses the other brokers, but not the clients."""
    name = _coordinator(s)
    others = [other for other in s.cluster.ranked if other != name]
    for other in others:
        s.cut(m.PairLinks(between=(name, other)))
    s.later(*s.draw.choice(((3.0, 8.0), (12.0, 20.0))))
    s.heal(None)


def ends_without_markers(s: Schedule) -> None:
    """Markers are late, and the coordinator dies meanwhile."""
    coordinator = _coordinator(s)
    if not s.is_well(coordinator) or len(s.well) < 2:
        return
    for other in s.cluster.ranked:
        if other != coordinator:
            links = m.PairLinks(between=(coordinator, other))
            s.add(m.Delay(links=links, apis=("WriteTxnMarkers",), delay_ms=15_000, at_s=s.at_s, expects_traffic=False))
    s.later(1.0, 6.0)
    s.kill(coordinator)
    s.later(RETURN_S, RETURN_S + 4.0)
    s.heal(None)
    s.start(coordinator)


TRANSACTION_USUAL: Final[dict[str, tuple[Fault, int]]] = {
    "client-delay": (client_delay, 5),
    "client-pause": (client_pause, 2),
    "coordinator-dies": (coordinator_dies, 3),
}
"""Fault types of every schedule with transactions, beside those of each schedule."""
TRANSACTION_SELDOM: Final[dict[str, tuple[Fault, int]]] = {
    "client-hold": (client_hold, 4),
    "client-cut": (client_cut, 3),
    "marker-delay": (marker_delay, 4),
}
"""Fault types of some schedules with transactions."""
TRANSACTION_SEQUENCES: Final[dict[str, tuple[Fault, int]]] = {
    "late-request": (late_request, 30),
    "late-before-the-end": (late_before_the_end, 12),
    "sleeping-client": (sleeping_client, 6),
    "cut-off-coordinator": (cut_off_coordinator, 4),
    "ends-without-markers": (ends_without_markers, 4),
}
"""Sequences of schedules with transactions."""
