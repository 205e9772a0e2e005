"""Advice as text and as JSON, from what might have been found: nothing is played."""

import pytest

from emulator.cli.commands.advice_report import OTHERS_MAX, as_json, print_advice
from tests.emulator.judging.advice.sample_advice import LOST, READ, sample_advice, sample_pair_advice


def test_text_has_a_column_of_each_broken_promise_and_the_waits_in_each_az(capsys: pytest.CaptureFixture[str]) -> None:
    print_advice(sample_advice(), 12.3)
    text = capsys.readouterr().out
    assert "1 of 3 single faults break a promise: lost-acknowledged (1), read-then-lost (1)." in text
    assert "producer.acks not set; using Kafka's default 1" in text and "warning: a & b" in text
    head = next(line for line in text.splitlines() if line.split()[:2] == ["fault", "when"])
    assert "lost" in head and "read, gone" in head and "order" not in head
    assert "–  18.9  –" in text and "–  –  stops" in text, "of az-1 and az-2"
    assert "  replay  faultline run 'x y.yaml' --seed 2" in text and "  change  a=1 and b=2" in text
    assert "1 runs are inconclusive: a wait was not reached" in text
    assert "3 single faults, each with 3 seeds: 9 runs, 40 for changes; in 12 s." in text


def test_text_of_pairs_has_a_cause_once_and_names_a_few_others(capsys: pytest.CaptureFixture[str]) -> None:
    print_advice(sample_pair_advice(), 12.3)
    text = capsys.readouterr().out.partition("Pairs of faults, ")[2]
    assert text.startswith("8, drawn at random, of 4680 runs;")
    assert text.count("  why ") == 2 and "record-0 went" in text and "record-1" not in text
    assert "  change  c=3 (ends 6 of 7)" in text and f"; {6 - OTHERS_MAX} more" in text
    assert "8 runs of pairs, 11 for changes; in 12 s." in text


def test_json_has_every_fault_and_every_pair() -> None:
    report_of = as_json(sample_pair_advice())
    first, second, third = report_of["faults"]
    assert [broken["check"] for broken in first["broken"]] == [LOST, READ]
    assert first["broken"][0]["change"] == ("a=1", "b=2") and first["broken"][1]["change"] is None
    assert second["reads_stopped"] == {"az-2": 1} and second["refused"] == {"az-1": 4} and third["broken"] == []
    pairs = report_of["pairs"]
    assert (pairs["runs"], pairs["of"], pairs["exhausted"], pairs["known"]) == (8, 4680, False, 2)
    assert [len(cause["pairs"]) for cause in pairs["causes"]] == [7, 1]
    assert [one["change"] for one in pairs["causes"][0]["pairs"]] == [("c=3",)] * 6 + [None]
    assert pairs["causes"][0]["pairs"][1]["replay"].endswith(".yaml --seed 1")
    assert "pairs" not in as_json(sample_advice())
