"""Steps that wait: work (protocol/work.py) that yields an order and resumes with its result.

    attempt = yield Order("a fetch from broker-1", lambda done: direct.fetch(..., done=done))
"""

from collections.abc import Callable, Iterable
from typing import Any

from emulator.machines.client.blocked_send import ProducerFull
from emulator.machines.client.client_settings import UnusableSetting
from emulator.machines.client.client_state import TooManyClientRequests, TooManyExchanges
from emulator.machines.client.group_commands import TooManyCommands
from protocol.work import Done, Runner, Until, Work

CANNOT_BEGIN = (TooManyClientRequests, TooManyExchanges, TooManyCommands, ProducerFull, UnusableSetting)
"""Exceptions of the player's own clients that refuse a request.

Too many are in flight in the background, or their version lacks a setting.
"""

Steps = Work[None]


class Order(Until):
    """A wait that starts an action; its callback is called once, immediately or later.

    A StepFailed as the result is raised in the step; so is the refusal of a client.
    """

    __slots__ = ()

    def __init__(self, what: str, begin: Callable[[Done], None]) -> None:
        def begin_within_bounds(done: Done) -> None:
            try:
                begin(done)
            except CANNOT_BEGIN as error:
                done(StepFailed(f"{what}: {error}"))

        super().__init__(what, begin_within_bounds)


class StepFailed(Exception):
    """A step that is impossible. `step`: its number, from 1; 0: of none."""

    step = 0


def together(runner: Runner, parts: Iterable[Steps]) -> Order:
    """All at once; the outcome, when all have ended, is the first StepFailed of them, or None."""
    tasks = list(parts)

    def begin(done: Callable[[Any], None]) -> None:
        left = len(tasks)
        failures: list[StepFailed] = []

        def ended(result: None) -> None:
            nonlocal left
            left -= 1
            if not left:
                done(failures[0] if failures else None)

        if not tasks:
            done(None)
        for number, steps in enumerate(tasks):
            runner.start("together", f"part {number + 1} of {len(tasks)}", _caught(steps, failures), ended)

    return Order("the end of what was begun together", begin)


def _caught(steps: Steps, failures: list[StepFailed]) -> Steps:
    try:
        yield from steps
    except StepFailed as failed:
        failures.append(failed)
