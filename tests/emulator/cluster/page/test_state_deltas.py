"""Changes between two states."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from emulator.cluster.page.state_deltas import Delta, applied, difference

LEAVES: Any = st.sampled_from([None, False, True, 0, 1, "", "a", [], [1], {}])
INNER = st.dictionaries(st.sampled_from("abc"), LEAVES, max_size=2)
STATES = st.dictionaries(st.sampled_from("abc"), LEAVES | INNER | st.fixed_dictionaries({"d": INNER}), max_size=3)


@given(STATES, STATES)
def test_the_changes_applied_to_the_first_state_are_the_second(before: dict[str, Any], after: dict[str, Any]) -> None:
    kept = msgspec.json.encode(before)
    sent = msgspec.json.decode(msgspec.json.encode(difference(before, after)), type=Delta)
    assert msgspec.json.encode(sorted_in(applied(before, sent))) == msgspec.json.encode(sorted_in(after))
    assert msgspec.json.encode(before) == kept, "the first state stays"
    assert bool(difference(before, after)) == (sorted_in(before) != sorted_in(after) or differs_in_type(before, after))


def test_a_change_is_as_small_as_what_has_changed() -> None:
    before = {"nodes": {"a": {"alive": True, "epoch": 1}, "b": {}}, "list": [1, 2], "none": None}
    after = {"nodes": {"a": {"alive": False, "epoch": 1}}, "list": [1, 3], "none": {"x": 1}}
    assert difference(before, after) == Delta(
        [(["nodes", "a", "alive"], False), (["list"], [1, 3]), (["none"], {"x": 1})], [["nodes", "b"]]
    )
    assert not difference(before, before)
    assert difference({"a": 1}, {"a": True}) == Delta([(["a"], True)], [])


def sorted_in(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_in(value[key]) for key in sorted(value)}
    return value


def differs_in_type(before: Any, after: Any) -> bool:
    return msgspec.json.encode(sorted_in(before)) != msgspec.json.encode(sorted_in(after))
