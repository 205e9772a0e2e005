"""Every known line of Kafka's logs, in every version (semantics 9).

`expected/lines.txt` has for each situation the lines, from each version that changes them.
"""

import re
from pathlib import Path
from string import Formatter

import pytest

from emulator.runs.kafka_log.pattern import Pattern, clock, file_of, pattern, written
from emulator.runs.kafka_log.rendering import PATTERNS
from protocol.versions import LADDER, rank
from tests.emulator.runs.kafka_log.situations import FOLLOWS, LEADS, SITUATIONS, as_text, fetcher, lines_of

EXPECTED = Path(__file__).parent / "expected" / "lines.txt"


def expected() -> dict[str, list[str]]:
    """{situation: lines}"""
    sections = EXPECTED.read_text(encoding="utf-8").split("## ")[1:]
    return {title: rest.splitlines() for title, _, rest in (s.strip().partition("\n") for s in sections)}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_is_written_in_each_version(situation: str) -> None:
    """Semantics 9."""
    assert list(as_text(SITUATIONS[situation])) == expected()[situation]


def test_there_is_nothing_else_expected() -> None:
    assert list(expected()) == list(SITUATIONS)


@pytest.mark.parametrize("name", PATTERNS)
def test_every_text_of_a_pattern_is_among_them(name: str) -> None:
    """Each step of each table is reached by some situation."""
    known = [line for lines in expected().values() for line in lines]
    for version, text in PATTERNS[name].text:
        likely = ".*".join(re.escape(literal) for literal, *_ in Formatter().parse(text))
        assert not text or any(re.search(likely, line) for line in known), (name, version)


@pytest.mark.parametrize("name", PATTERNS)
def test_steps_are_on_the_ladder_and_in_its_order(name: str) -> None:
    found: Pattern = PATTERNS[name]
    for steps in (found.logger, found.level, found.prefix, found.text):
        ranks = [rank(version) for version, _ in steps]
        assert steps[0][0] == LADDER[0]
        assert ranks == sorted(set(ranks))


def test_an_older_protocol_version_changes_the_isr_by_writes() -> None:
    """2.7 writes so or through the controller, and says which (semantics 1.6)."""
    done = SITUATIONS["its ISR has changed"][2]
    line = "INFO [Partition t-0 broker=0] ISR updated {} updated to [9] (kafka.cluster.Partition)"
    assert lines_of("2.7", done, "2.6") == [line.format("to [0,1,2] and zkVersion")]
    assert lines_of("2.7", done) == [line.format("from AlterIsr to 0,1,2 and version")]


def test_a_fetcher_that_was_removed_in_the_same_step_is_not_removed_again() -> None:
    removed = [line for line in lines_of("2.6", (FOLLOWS, fetcher("removed"), LEADS)) if "Removed fetcher" in line]
    assert len(removed) == 1


def test_clocks_are_log4js_and_in_utc() -> None:
    assert clock(1_600_000_000_250.9) == "2020-09-13 12:26:40,250"
    assert clock(1_600_000_000_004.0) == "2020-09-13 12:26:40,004"


def test_a_line_has_the_layout_of_log4j_properties() -> None:
    """`[%d] %p %m (%c)%n`"""
    line = written(pattern("kafka.x.Y", "t is {t}", prefix="[Y] "), "2.6", 1_600_000_000_000.0, {"t": 1})
    assert str(line) == "[2020-09-13 12:26:40,000] INFO [Y] t is 1 (kafka.x.Y)"


@pytest.mark.parametrize(
    ("logger", "file"),
    [
        ("kafka.controller.KafkaController", "controller"),
        ("kafka.controller.ReplicaStateMachine$BrokerChangeListener", "controller"),
        ("state.change.logger", "state-change"),
        ("kafka.log.Log", "server"),
    ],
)
def test_loggers_have_their_files(logger: str, file: str) -> None:
    assert file_of(logger) == file
