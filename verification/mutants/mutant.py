"""A mutant: wrong machines, and the runs in which judges detect them.

`applied(MUTANTS[name])` makes machines wrong in this process, while it lasts.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec

Patches = list[tuple[Any, str, Any]]
"""(owner, name, replacement)"""


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """Machines that are wrong in one way that Kafka's replication forbids.

    `check`: the check that detects it in the play of `scenario`, `version` and `seed`. Right machines hold the check
    there. `versions`, `scenarios`: those of crash testing, the play's version and all scenarios if empty. `guard`: the
    guard of the published TLA+ models of Kafka's replication that it lacks. `unseen`: the reason why crash testing
    cannot detect it.
    """

    wrong: str
    patches: Callable[[], Patches]
    check: str
    scenario: str
    version: str
    seed: int = 1
    versions: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    guard: str = ""
    unseen: str = ""


class Patched(Protocol):
    """A mutant of any kind of machine."""

    @property
    def patches(self) -> Callable[[], Patches]: ...


@contextmanager
def applied(mutant: Patched) -> Iterator[None]:
    """For as long as it lasts; not to be nested with itself."""
    patches = mutant.patches()
    before = [(whose, name, getattr(whose, name)) for whose, name, _ in patches]
    try:
        for whose, name, instead in patches:
            setattr(whose, name, instead)
        yield
    finally:
        for whose, name, was in before:
            setattr(whose, name, was)
