"""Rules on links from their texts in events."""

import pytest

from emulator.cluster.metrics.rule_texts import rule_in
from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.topology import three_azs

WORDS = (
    "cut az-0", "cut az-0 -> az-1", "delay az-0 az-1 50ms 10ms", "delay az-2 0.5ms", "loss az-0 az-1 0.2",
    "bandwidth az-0 1000000", "bandwidth az-0 az-1 1234", "reset az-0 500ms", "reset az-0", "hold broker-1 broker-2",
    "cut broker-0 broker-1 --only fetch", "hold az-0 --only produce,list-offsets", "cut az-0 --only fetcher,session",
    "cut az-0 --client-id x,y", "cut opened_by broker-0 to session-0",
)  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_a_text_is_read_back(words: str) -> None:
    rule = rule_of(three_azs(), "", parse(words.split()))
    assert rule_in(three_azs(), rule.what) == rule


@pytest.mark.parametrize("text", ["cut az-9", "", "answer Fetch with NOT_LEADER_OR_FOLLOWER", "heal"])
def test_a_text_of_no_links_has_no_rule(text: str) -> None:
    assert rule_in(three_azs(), text) is None
