"""Candidates for clients' time-outs, and the choice among their measured waits. Pure.

A client notices a silent broker when `request.timeout.ms` has passed: a paused one, or one behind a cut, sends no
error. So this time-out decides how soon a write or read goes on, and the others follow from the waits.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Final

import msgspec

from emulator.judging.advice.outcomes import Outcome
from emulator.judging.advice.single_faults import MARGIN_S, Fault

REQUEST_TIMEOUTS_MS: Final = (30_000, 20_000, 15_000, 10_000, 7_000, 5_000, 3_000, 2_000)
SESSION_TIMEOUTS_MS: Final = (45_000, 30_000, 20_000, 15_000, 10_000, 6_000, 3_000)
HEARTBEATS_IN_A_SESSION: Final = 3
"""Kafka's documentation: `heartbeat.interval.ms` is at most a third of `session.timeout.ms`."""
WITHIN_MIN_MS: Final = 1_000
WITHIN_MAX_MS: Final = 600_000

Place = tuple[str, str]
"""(fault, AZ of the clients)"""


class Measured(msgspec.Struct, frozen=True):
    """The longest waits with one candidate, in ms.

    `writes`, `reads`: by fault and AZ. `failed`: failed writes, or consumers that stopped for good. `unknown`: faults
    without a conclusive run.
    """

    request_timeout_ms: int
    writes: dict[Place, float] = {}
    reads: dict[Place, float] = {}
    failed: dict[Place, int] = {}
    unknown: dict[str, str] = {}


class Chosen(msgspec.Struct, frozen=True):
    """The choice for one kind of operation.

    `request_timeout_ms`: the largest one with which all recover that recover with any. `longest_ms`: the longest wait
    then. `late`: places that recover later than wanted with every candidate, with their waits. `lasting`: places whose
    wait lasts as long as the fault.
    """

    request_timeout_ms: int
    longest_ms: float
    late: dict[Place, float]
    lasting: tuple[Place, ...]


def candidates(present_ms: int, within_ms: int, ladder: Sequence[int] = REQUEST_TIMEOUTS_MS) -> tuple[int, ...]:
    """The present time-out, then shorter ones that are at most the wanted recovery."""
    return (present_ms, *(one for one in ladder if one < present_ms and one <= within_ms))


def faults_to_outlast(faults: Iterable[Fault], within_ms: int) -> tuple[Fault, ...]:
    """Faults under load, each longer than the wanted recovery.

    A shorter one would end before the time-outs that are compared.
    """
    lasts_s = within_ms / 1000.0 + MARGIN_S
    under_load = (fault for fault in faults if fault.moment == "load")
    return tuple(msgspec.structs.replace(one, lasts_s=max(one.lasts_s, lasts_s)) for one in under_load)


def measured(request_timeout_ms: int, outcomes: Iterable[Outcome]) -> Measured:
    """The worst of all seeds, by fault and AZ."""
    found = Measured(request_timeout_ms, {}, {}, {}, {})
    for one in outcomes:
        if one.inconclusive:
            found.unknown.setdefault(one.fault, one.inconclusive)
            continue
        for waits, of_kind in ((one.writes, found.writes), (one.reads, found.reads)):
            for az, ms in waits.waited_ms.items():
                of_kind[one.fault, az] = max(of_kind.get((one.fault, az), 0.0), ms)
            for az, count in waits.refused.items():
                found.failed[one.fault, az] = max(found.failed.get((one.fault, az), 0), count)
    return found


def slow_faults(found: Measured, within_ms: int) -> set[str]:
    """Faults in which some client waits longer than wanted: only these need other candidates."""
    return {fault for waits in (found.writes, found.reads) for (fault, _), ms in waits.items() if ms > within_ms}


def with_others(found: Measured, present: Measured) -> Measured:
    """A candidate's waits, and of faults that it was not played with the present ones."""
    played = {fault for fault, _ in (*found.writes, *found.reads)} | found.unknown.keys()

    def filled(own: Mapping[Place, float], of_present: Mapping[Place, float]) -> dict[Place, float]:
        return {**{place: ms for place, ms in of_present.items() if place[0] not in played}, **own}

    return msgspec.structs.replace(
        found, writes=filled(found.writes, present.writes), reads=filled(found.reads, present.reads)
    )


def chosen(tried: Sequence[tuple[int, Mapping[Place, float]]], within_ms: int, lasts_ms: Mapping[str, float]) -> Chosen:
    """The choice among candidates, the longest first. `lasts_ms`: of each fault.

    A candidate with which a place has no wait of its own is as good as any other there.
    """
    recovered = [{place for place, ms in waits.items() if ms <= within_ms} for _, waits in tried]
    possible = set().union(*recovered)
    at = next((at for at, places in enumerate(recovered) if possible <= places), len(tried) - 1)
    timeout_ms, waits = tried[at]
    beyond = {place: ms for place, ms in waits.items() if place not in possible}
    late = {place: ms for place, ms in beyond.items() if ms < lasts_ms[place[0]]}
    longest_ms = max((waits[place] for place in possible if place in waits), default=0.0)
    return Chosen(timeout_ms, longest_ms, late, tuple(sorted(beyond.keys() - late.keys())))


def delivery_timeout_ms(longest_ms: float, request_timeout_ms: int, linger_ms: float, backoff_ms: float) -> int:
    """The least `delivery.timeout.ms`: the longest wait and one more attempt."""
    least = longest_ms + backoff_ms + request_timeout_ms + linger_ms
    return ceil(least / 1000.0) * 1000


def session_timeout_ms(takeovers: Mapping[int, float], within_ms: int) -> int | None:
    """The longest session whose partitions others take over in time; None: none is.

    `takeovers`: {`session.timeout.ms`: the longest takeover in ms}.
    """
    return max((session for session, ms in takeovers.items() if ms <= within_ms), default=None)


def sessions(present_ms: int, low_ms: int, high_ms: int, within_ms: int) -> tuple[int, ...]:
    """Candidates for `session.timeout.ms` that the brokers allow."""
    allowed = (one for one in SESSION_TIMEOUTS_MS if low_ms <= one <= min(high_ms, within_ms))
    return tuple(dict.fromkeys((present_ms, *allowed)))


def failed_in_time(found: Measured, *choices: Chosen) -> Iterator[tuple[Place, int]]:
    """Failed operations at places that recover in time by every choice."""
    beyond = {place for choice in choices for place in (*choice.late, *choice.lasting)}
    yield from ((place, count) for place, count in sorted(found.failed.items()) if place not in beyond)
