"""Observations in words: no Python, Kafka's names, epochs with their start offsets."""

from typing import Any

import pytest

from emulator.scenario.expectation_text import saw_words, seen_words


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (None, "nothing"),
        ([], "nothing"),
        ({}, "nothing"),
        (4600, "4600"),
        (12.5, "12.5"),
        (True, "yes"),
        ("x was not judged", "x was not judged"),
        ({"verdict": "violated", "count": 3}, "violated, 3 found"),
        ({"verdict": "held", "count": 0}, "held"),
        ({"error": 0}, "no error"),
        ({"error": 6, "high_watermark": None}, "NOT_LEADER_OR_FOLLOWER (error 6)"),
        ({"error": "TimeoutError", "values": None}, "TimeoutError"),
        ({"error": 0, "high_watermark": 2, "values": ["a", "b"]}, "high watermark 2, values a b"),
        (
            [{"value": v, "error": 0, "offset": n} for n, v in enumerate("cde", 2)],
            "c d e acknowledged at offsets 2 3 4",
        ),
        (
            [{"value": "c", "error": 0, "offset": 2}, {"value": "x", "error": "TimeoutError", "offset": None}],
            "c acknowledged at offset 2; x TimeoutError",
        ),
        ([{"value": "c", "error": 7, "tries": 4, "offset": -1}], "c REQUEST_TIMED_OUT (error 7) after 4 tries"),
        ([{"value": None, "error": None}], "no such attempt"),
        (
            {
                "broker-0": {"values": ["a"], "epochs": [[0, 0], [1, 2]]},
                "broker-1": {"values": ["a"], "epochs": [[0, 0], [1, 2]]},
                "broker-2": {"values": [], "epochs": []},
                "broker-3": None,
            },
            "broker-0, broker-1: a, epochs 0@0 1@2; broker-2: no records, epochs none; broker-3: no replica",
        ),
        ({"leader": 1, "leader_epoch": 2, "isr": [1, 0]}, "leader 1, leader epoch 2, ISR 1,0"),
        ({"broker-1": 2}, "broker-1 2"),
    ],
)
def test_observations_are_shown_in_words(seen: Any, words: str) -> None:
    assert seen_words(seen) == words


def test_unknown_reasons_were_not_seen() -> None:
    assert saw_words("unknown", "x was not measured") == "x was not measured"
    assert saw_words("unknown", None) == "saw nothing"
    assert saw_words(False, {"verdict": "violated", "count": 3}) == "saw violated, 3 found"
