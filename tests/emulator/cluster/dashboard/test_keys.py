"""Typed keys of a watch: keys in, the bottom line and commands out."""

from __future__ import annotations

from emulator.cluster.dashboard.keys import LINE, TYPED_MAX, Order, Typed, keys_in, pressed, with_message


def typing(text: str, typed: Typed | None = None) -> tuple[Typed, list[Order]]:
    typed, orders = typed or Typed(), []
    for key in keys_in(text):
        typed, order = pressed(typed, key)
        orders += [order] if order else []
    return typed, orders


def test_at_rest_the_keys_are_named() -> None:
    assert Typed().line() == LINE
    assert LINE == "c cut  h heal  k kill  p pause  r resume  s start  f filter  q quit"


def test_an_order_is_typed_and_given_with_enter() -> None:
    typed, orders = typing("caz-0")
    assert orders == [] and typed.line() == "cut: az-0_   Enter: do it   Esc: leave it"
    typed, orders = typing("\r", typed)
    assert orders == [Order("cut", ("az-0",))]
    assert typed.line() == "cut az-0 ..."
    assert with_message(typed, "rule-1: cut az-0").line() == "rule-1: cut az-0"
    assert typing("x", with_message(typed, "rule-1: cut az-0"))[0].line() == LINE, "the next key takes it away"


def test_before_anything_is_typed_an_example_stands_there() -> None:
    assert typing("k")[0].line() == "kill: _  (broker-0, az-0, leader:t-0)   Enter: do it   Esc: leave it"


def test_no_single_key_breaks_anything() -> None:
    """Nor does Enter without a place, but for a heal, which is of everything then."""
    for key in "cdefghijklmnoprs":
        assert typing(f"{key}")[1] == []
        assert typing(f"{key}\r")[1] == ([Order("heal", ())] if key == "h" else [])


def test_escape_leaves_it_and_an_arrow_is_no_escape() -> None:
    assert typing("kbroker-0\x1b\r") == (Typed(), [])
    assert typing("kbroker-\x1b[D\x1bOC0\r")[1] == [Order("kill", ("broker-0",))]
    assert keys_in("a\x1b[1;5Cb\x1b") == ["a", "\x1b[1;5C", "b", "\x1b"]


def test_what_is_typed_can_be_mended_and_has_a_bound() -> None:
    assert typing("cbroker-0 broker-x\x7f1\n")[1] == [Order("cut", ("broker-0", "broker-1"))]
    assert typing("cabc\x15az-1\r")[1] == [Order("cut", ("az-1",))]
    assert typing("c\x7f")[0] == Typed(verb="cut")
    assert len(typing("c" + "x" * 1_000)[0].text) == TYPED_MAX


def test_a_filter_stays_until_it_is_emptied() -> None:
    typed, orders = typing("forders\r")
    assert orders == [] and typed.shown == "orders" and typed.line() == LINE + "   only orders"
    assert typing("f", typed)[0].text == "orders", "it is there to be changed"
    assert typing("f\x15\r", typed)[0] == Typed()


def test_q_quits_at_rest_only() -> None:
    assert typing("q")[0].quits
    assert not typing("cq")[0].quits and typing("cq")[0].text == "q"
