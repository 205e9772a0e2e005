"""Any text has a number in it, or none, and never raises an error."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from protocol.ids import topic_partition_of
from protocol.numbers import DIGITS_MAX, number_in
from protocol.znodes import numbers_in, state_partition

LONG = "9" * 5_000
"""More digits than Python makes a number of."""
ODD = st.one_of(st.text(), st.text("0123456789²٣_+- \n", max_size=30))


@given(ODD)
@example("²")
@example("٣")
@example(LONG)
@example("1_0")
@example("-1")
@example("1\n")
@example("9" * DIGITS_MAX)
def test_a_number_is_ascii_digits_that_fit_into_64_bits(text: str) -> None:
    plain = re.fullmatch(rf"[0-9]{{1,{DIGITS_MAX}}}", text) is not None
    assert number_in(text) == (int(text) if plain else None)
    if text.isascii():
        assert number_in(text.encode()) == number_in(text)


@given(ODD)
@example("²")
@example(LONG)
def test_what_is_named_by_anybody_names_a_partition_or_nothing(text: str) -> None:
    found = None if number_in(text) is None else ("t", number_in(text))
    topic, _, last = f"t-{text}".rpartition("-")
    assert topic_partition_of(f"t-{text}") == (None if number_in(last) is None else (topic, number_in(last)))
    assert state_partition(f"/brokers/topics/t/partitions/{text}/state") in (None, found)
    assert numbers_in([text]) == ([] if number_in(text) is None else [number_in(text)])
