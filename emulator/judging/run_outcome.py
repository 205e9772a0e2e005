"""Outcome of a run: digest of what must match a recording; reasons why it is not valid."""

from hashlib import blake2b

from emulator.runs.verdict_file import Verdict
from emulator.scenario.observations.comparable import Comparable


def broken_in(verdict: Verdict) -> tuple[str, ...]:
    """Reasons why the run is not valid, one sentence each."""
    expectations = [one.text for one in verdict.expectations if one.held is not True]
    checks = [
        f"{name} is {check.verdict}, which the scenario does not expect"
        for name, check in verdict.checks.items()
        if (check.verdict == "violated" and not check.expected) or check.verdict == "unknown"
    ]
    return (*expectations, *checks, *verdict.unknown_because)


def outcome_of(run: Comparable) -> str:
    """Digest that is equal for two runs that equal the same recordings."""
    parts = [item.token for item in run.timeline + run.controllers]
    for of_place in (run.states, run.truncations):
        for name, items in sorted(of_place.items(), key=lambda part: str(part[0])):
            parts += [str(name).encode(), *(item.token for item in items)]
    return digest_of(b"\n".join(parts))


def digest_of(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
