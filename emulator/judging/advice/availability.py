"""Waiting times of clients in a run, by AZ: writes of its client, fetches of its consumer."""

from collections.abc import Iterable
from typing import Final

import msgspec

from emulator.machines.client.client_operations import KeptOperations
from emulator.scenario.scenario_model import Scenario
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import NodeStarted, OperationEnded, OperationInvoked

WAITS_MS: Final = 1_000.0
"""Shorter responses count as no unavailability."""
FETCH_WAITS: Final = "consumer.fetch.max.wait.ms"
FETCH_WAITS_MS: Final = 500.0
"""Kafka's default: the leader's maximum wait for an empty fetch."""


class Waits(msgspec.Struct, frozen=True):
    """Waiting times and refusals.

    `waited_ms`: {AZ: the longest wait, 0 if too short to count}. `refused`: {AZ: count of failed writes, or of
    consumers that stopped for good}.
    """

    waited_ms: dict[str, float] = {}
    refused: dict[str, int] = {}


def writes_of(world: SimulatedWorld) -> Waits:
    """Waits from a record's send to its end; a write without an end waits until the run's end."""
    azs = _client_azs(world)
    longest = dict.fromkeys(azs.values(), 0.0)
    begun: dict[str, tuple[str, float]] = {}
    refused: dict[str, int] = {}
    for node, _, _, _, at_ms, event in world.trace.entries:
        match event:
            case OperationInvoked(kind="produce", operation=operation):
                begun[operation] = (azs.get(node, ""), at_ms)
            case OperationEnded(kind="produce", operation=operation, outcome=outcome):
                az, since_ms = begun.pop(operation)
                longest[az] = max(longest.get(az, 0.0), at_ms - since_ms)
                if outcome == "failed":
                    refused[az] = refused.get(az, 0) + 1
            case _:
                pass
    end_ms = _end_ms(world)
    for az, since_ms in begun.values():
        longest[az] = max(longest.get(az, 0.0), end_ms - since_ms)
    return Waits(_counted(longest, WAITS_MS), refused)


def reads_of(world: SimulatedWorld, operations: KeptOperations, scenario: Scenario) -> Waits:
    """Waits between two fetches with a response, even an empty one.

    The first wait begins with the consumer, the last one ends with its stop, or with the run if it stopped by itself.
    """
    azs = _client_azs(world)
    longest = dict.fromkeys(azs.values(), 0.0)
    lives: dict[str, tuple[str, float]] = {}
    ends: dict[str, float] = {}
    for node, _, _, _, at_ms, event in world.trace.entries:
        match event:
            case OperationInvoked(kind="fetch", operation=operation):
                lives[operation] = (azs.get(node, ""), at_ms)
            case OperationEnded(kind="fetch", operation=operation):
                ends[operation] = at_ms
            case _:
                pass
    end_ms = _end_ms(world)
    refused: dict[str, int] = {}
    for one in operations:
        if one.identifier not in lives:
            continue
        az, begun_ms = lives[one.identifier]
        stopped = one.ended and one.outcome != "ok"
        over_ms = end_ms if stopped else ends.get(one.identifier, end_ms)
        first_ms, last_ms = one.answered_ms or (over_ms, over_ms)
        longest[az] = max(longest.get(az, 0.0), one.silent_ms, first_ms - begun_ms, over_ms - last_ms)
        if stopped:
            refused[az] = refused.get(az, 0) + 1
    kept_ms = float(scenario.settings.get(FETCH_WAITS, FETCH_WAITS_MS))
    return Waits(_counted(longest, WAITS_MS + kept_ms), refused)


def worst_of(waits: Iterable[Waits]) -> Waits:
    """The worst values of each AZ."""
    waited: dict[str, float] = {}
    refused: dict[str, int] = {}
    for one in waits:
        for az, ms in one.waited_ms.items():
            waited[az] = max(waited.get(az, 0.0), ms)
        for az, count in one.refused.items():
            refused[az] = max(refused.get(az, 0), count)
    return Waits(dict(sorted(waited.items())), dict(sorted(refused.items())))


def _client_azs(world: SimulatedWorld) -> dict[str, str]:
    """{client: its AZ}"""
    started = ((entry[0], entry[5]) for entry in world.trace.entries if isinstance(entry[5], NodeStarted))
    return {node: event.az for node, event in started if "client" in event.roles}


def _end_ms(world: SimulatedWorld) -> float:
    return world.trace.entries[-1][4] if world.trace.entries else 0.0


def _counted(longest: dict[str, float], least_ms: float) -> dict[str, float]:
    return {az: round(ms, 1) if ms >= least_ms else 0.0 for az, ms in sorted(longest.items())}
