"""Deterministic random generator, seeded by a machine's `Started` input.

Machines may not import `random`. Their random choices (first session server, start of replica placement) come from the
seed of `Started`. SplitMix64: one multiply-and-shift chain per draw, the same on every machine.
"""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_MASK = (1 << 64) - 1


class Chance:
    """A stream of draws; the same seed gives the same stream."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def _next(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, bound: int) -> int:
        """An int in [0, bound)."""
        assert bound > 0, bound
        return self._next() % bound

    def fraction(self) -> float:
        """A float in [0, 1)."""
        return (self._next() >> 11) / (1 << 53)

    def between(self, low: float, high: float) -> float:
        """A float in [low, high)."""
        return low + (high - low) * self.fraction()

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """A new list in another order (Fisher-Yates)."""
        result = list(items)
        for i in range(len(result) - 1, 0, -1):
            j = self.below(i + 1)
            result[i], result[j] = result[j], result[i]
        return result
