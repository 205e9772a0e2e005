"""Targets: their two forms, the words of commands, and what they mean at a moment."""

import pytest

from emulator.faults.targets import NoTarget, joined, resolved, target_in


@pytest.mark.parametrize(
    ("word", "target"),
    [
        ("leader of t-0", "leader:t-0"), ("leader:t-0", "leader:t-0"), ("Leader of a.b-c-12", "leader:a.b-c-12"),
        ("active controller", "active-controller"), ("active-controller", "active-controller"),
        ("leader of", "leader:"), ("leader", "leader:"), ("leader-0", None), ("broker-0", None), ("controller", None),
    ],
)  # fmt: skip
def test_forms(word: str, target: str | None) -> None:
    assert target_in(word) == target


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["leader", "of", "t-0", "broker-1"], ["leader:t-0", "broker-1"]),
        (["leader:t-0->session"], ["leader:t-0", "->", "session"]),
        (["active", "controller", "->", "az-0", "50ms"], ["active-controller", "->", "az-0", "50ms"]),
        (["az-0", "--client-id", "leader", "--only=fetch"], ["az-0", "--client-id", "leader", "--only=fetch"]),
        (["opened_by", "leader:", "t-0", "to", "broker-1"], ["opened_by", "leader:t-0", "to", "broker-1"]),
    ],
)
def test_words_of_a_command(words: list[str], found: list[str]) -> None:
    assert joined(words) == found


def test_what_they_mean() -> None:
    assert resolved("leader:t-1", {"t-0": 0, "t-1": 2}, None) == "broker-2"
    assert resolved("active-controller", {}, 1) == "broker-1"
    assert resolved("active-controller", {}, 1000) == "controller-0"


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("leader:t-0", "leader of t-0: the partition has none now; wait for one first"),
        ("leader:t-7", "leader of t-7: there is no such partition; did you mean t-0?"),
        ("leader:", "leader of : names no partition; write leader of TOPIC-N, such as leader of t-0"),
        ("active-controller", "active controller: there is none now; wait for one first"),
    ],
)
def test_no_node(target: str, why: str) -> None:
    with pytest.raises(NoTarget) as refused:
        resolved(target, {"t-0": -1}, None)
    assert str(refused.value) == why
