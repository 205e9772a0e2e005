"""One setting's values are read as Kafka reads them."""

import pytest

from emulator.settings.setting import Setting, boolean, double, integer, listing, long, short, text

NUMBER = integer("n", 1)
RANGE = integer("n", 1, low=(0, ("1.0", 1)), high=(10, ("2.0.0", None)))
WORDS = text("w", "a", words=("a", "b"), words_since=(("c", "2.1"),), words_until=(("z", "1.1"),))


@pytest.mark.parametrize(
    ("setting", "given", "read"),
    [
        (boolean("b"), " TRUE ", True),
        (boolean("b"), "False", False),
        (NUMBER, " 7 ", 7),
        (NUMBER, "+7", 7),
        (NUMBER, "-7", -7),
        (long("n"), "9223372036854775807", 2**63 - 1),
        (double("d"), "0.5", 0.5),
        (double("d"), "1e3", 1000.0),
        (listing("l", words=("a", "b")), "a, b", "a, b"),
        (listing("l", words=("a", "b")), ["a", "b"], "a,b"),
        (listing("l", words=("a", "b")), "", ""),
        (text("t"), " x y ", "x y"),
        (text("t"), 2.6, "2.6"),
    ],
)
def test_read(setting: Setting, given: object, read: object) -> None:
    assert setting.read(given) == ("", read)


@pytest.mark.parametrize(
    ("setting", "given", "problem"),
    [
        (boolean("b"), "yes", "expected true or false, got 'yes'"),
        (boolean("b"), 1, "expected true or false, got 1"),
        (NUMBER, "0x10", "expected a whole number, got '0x10'"),
        (NUMBER, "1.0", "expected a whole number, got '1.0'"),
        (NUMBER, "1_000", "expected a whole number, got '1_000'"),
        (NUMBER, "٣", "expected a whole number, got '٣'"),
        (NUMBER, "", "expected a whole number, got ''"),
        (NUMBER, 2**31, "expected a whole number, at most 2147483647, got 2147483648"),
        (NUMBER, -(2**31) - 1, "expected a whole number, at least -2147483648, got -2147483649"),
        (short("n"), 32768, "expected a whole number, at most 32767, got 32768"),
        (long("n"), "9223372036854775808",
         "expected a whole number, at most 9223372036854775807, got 9223372036854775808"),
        (double("d"), "nan", "expected a number, got 'nan'"),
        (double("d", low=0, high=1), "1.5", "expected a number, at most 1, got 1.5"),
        (text("t"), True, "expected a text, got True"),
        (text("t"), None, "expected a text, got None"),
        (WORDS, "A", "expected one of a, b, c, z, got 'A'"),
    ],
)  # fmt: skip
def test_problem(setting: Setting, given: object, problem: str) -> None:
    assert setting.read(given)[0] == problem


def test_a_range_is_that_of_the_version_and_without_one_the_widest() -> None:
    assert [RANGE.read(0, version)[0] == "" for version in ("0.11", "1.0", None)] == [True, False, True]
    assert [RANGE.read(11, version)[0] == "" for version in ("1.1", "2.0.0", None)] == [False, True, True]


def test_words_are_those_of_the_version() -> None:
    assert WORDS.words_in("1.1") == ("a", "b", "z")
    assert WORDS.words_in("2.6") == ("a", "b", "c")
    assert WORDS.words_in(None) == ("a", "b", "c", "z")


def test_lifetimes() -> None:
    brief = text("t", since="0.9", until="0.10.2")
    assert [brief.exists_in(version) for version in ("0.8.2", "0.10.2", "0.11")] == [False, True, False]
    assert brief.lifetime == "it came with 0.9 and went after 0.10.2"
    assert text("t", since="2.0.0").lifetime == "it came with 2.0"
