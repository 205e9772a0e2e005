"""Starts with another binary or other settings, and the nodes after each of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from emulator.machines.node.restarts import Restarted, UnusableStart, restarted
from emulator.machines.node.specs import RunSpec
from emulator.scenario import scenario_model as m
from emulator.settings.account import Account, merged


def changes_of(spec: RunSpec, steps: Iterable[m.AnyStep]) -> list[tuple[m.Start, Restarted]]:
    """Each start that changes something, and the nodes after it.

    Raises UnusableStart with the step's number.
    """
    found: list[tuple[m.Start, Restarted]] = []
    for number, step in enumerate(steps, start=1):
        for start in starts_in([step]):
            if start.version or start.settings:
                try:
                    after = restarted(spec, start.node, start.version, start.settings)
                except UnusableStart as error:
                    raise UnusableStart(f"step {number}, start: {error}") from error
                spec = after.spec
                found.append((start, after))
    return found


def specs_of(spec: RunSpec, steps: Iterable[m.AnyStep]) -> tuple[RunSpec, ...]:
    """The nodes at first, then after each start that changes them. Raises UnusableStart."""
    return (spec, *(after.spec for _, after in changes_of(spec, steps)))


def versions_played(spec: RunSpec, steps: Iterable[m.AnyStep]) -> tuple[str, ...]:
    """Every binary of a broker or controller, in order of their appearance."""
    return tuple(dict.fromkeys(version for one in specs_of(spec, steps) for version in one.versions()))


def starts_in(steps: Iterable[m.AnyStep]) -> Iterator[m.Start]:
    """Starts at any depth."""
    return (step for step in m.plain_steps(steps) if isinstance(step, m.Start))


def with_accounts(account: Account, changes: Iterable[tuple[m.Start, Restarted]]) -> Account:
    """The remarks on the settings with those of later incarnations."""
    return merged(account, *(after.account for _, after in changes))


def start_records(changes: Iterable[tuple[m.Start, Restarted]]) -> list[dict[str, Mapping[str, Any] | str]]:
    """For settings.json: a record per start, in order.

    [{"node", "kafka.version", "inter.broker.protocol.version", "settings": those of the start}].
    """
    return [
        {
            "node": start.node,
            "kafka.version": after.spec.binary(start.node),
            "inter.broker.protocol.version": after.spec.protocol(start.node),
            "settings": start.settings,
        }
        for start, after in changes
    ]
