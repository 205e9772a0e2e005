"""Chance as a value: fixed vectors, so that a seed is the same on every machine and release."""

from hypothesis import given
from hypothesis import strategies as st

from protocol.chance import Chance


def test_the_stream_is_splitmix64() -> None:
    """The published first outputs of SplitMix64 for the seed 1234567."""
    chance = Chance(1234567)
    assert [chance._next() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_what_is_drawn_from_it() -> None:
    chance = Chance(42)
    drawn = [chance.below(10), chance.below(1), chance.fraction(), chance.between(5.0, 6.0), chance.shuffled("abcde")]
    again = Chance(42)
    assert drawn == [
        again.below(10),
        again.below(1),
        again.fraction(),
        again.between(5.0, 6.0),
        again.shuffled("abcde"),
    ]
    assert (drawn[0], drawn[1]) == (Chance(42)._next() % 10, 0)


@given(st.integers(), st.integers(1, 1000), st.lists(st.integers(), max_size=20))
def test_draws_are_within_their_bounds(seed: int, bound: int, items: list[int]) -> None:
    chance = Chance(seed)
    assert 0 <= chance.below(bound) < bound
    assert 0.0 <= chance.fraction() < 1.0
    assert 2.0 <= chance.between(2.0, 3.0) < 3.0
    before = list(items)
    assert sorted(chance.shuffled(items)) == sorted(items)
    assert items == before


def test_every_order_comes_up() -> None:
    chance = Chance(1)
    assert len({tuple(chance.shuffled([1, 2, 3])) for _ in range(200)}) == 6
