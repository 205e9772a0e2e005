"""Advice for CI: SARIF, test cases, Markdown, workflow commands."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from emulator.exit_codes import BROKEN
from emulator.judging.advice.advice_cases import annotations, markdown_of_advice, suite_of_advice
from emulator.judging.advice.advice_findings import advice_findings, places_of
from emulator.judging.advice.advice_output import AdviceReport
from emulator.judging.advice.advice_runs import Bug, Choice
from emulator.judging.advice.advice_sarif import sarif_of
from emulator.judging.advice.outcomes import PROMISES
from emulator.judging.junit import junit_xml
from emulator.judging.sarif import SarifLog
from emulator.settings.properties_files import SettingsFile, settings_file, wanted
from tests.emulator.judging.advice.sample_advice import LOST, READ, sample_advice, sample_pair_advice

SERVER = b"# of all brokers\nbroker.rack=a\nmin.insync.replicas=1\nmin.insync.replicas=1\n"
PRODUCER = b"linger.ms=5\nacks=1\n"


def named(path: str, data: bytes) -> tuple[str, SettingsFile]:
    return path, settings_file(wanted(path), path, data)


FILES = [named("conf/my server.properties", SERVER), named("producer.properties", PRODUCER)]


def changed_by(*change: str) -> AdviceReport:
    """The sample, with another change for its loss."""
    report = sample_advice()
    [finding] = report.advice.remedies
    return replace(report, advice=replace(report.advice, remedies={finding: change}))


def sarif(report: AdviceReport, files: list[tuple[str, SettingsFile]] | None = None) -> dict[str, Any]:
    document = sarif_of(report, FILES if files is None else files, BROKEN, Path("/project"))
    msgspec.json.decode(document, type=SarifLog)  # no other fields, and all that are required
    run: dict[str, Any] = msgspec.json.decode(document)["runs"][0]
    return run


def test_violations_that_one_change_ends_are_one_finding() -> None:
    single, *others = advice_findings(sample_pair_advice(7))
    assert (single.check, single.change, len(single.faults), single.of) == (LOST, ("a=1", "b=2"), 1, 3)
    of_pairs = [(one.check, one.change, len(one.faults), one.of) for one in others if one.pairs]
    assert of_pairs == [(LOST, ("c=3",), 6, 8), (LOST, None, 2, 8)]
    assert [one.check for one in others if not one.pairs] == [READ]


def test_the_place_of_a_change(subtests: pytest.Subtests) -> None:
    server, producer = "conf/my server.properties", "producer.properties"
    cases = [
        ("the last line that sets it", ("min.insync.replicas=2",), FILES, [(server, 4)]),
        ("every part", ("producer.acks=all", "min.insync.replicas=2"), FILES, [(producer, 2), (server, 4)]),
        ("the file of its kind, if none sets it", ("unclean.leader.election.enable=false",), FILES, [(server, 1)]),
        ("a producer's", ("producer.enable.idempotence=true",), FILES, [(producer, 1)]),
        ("a topic's, of brokers", ("topic.flush.messages=1",), FILES, [(server, 1)]),
        ("a version", ("--kafka-version 4.4",), FILES, [(server, 1)]),
        ("no file of its kind", ("producer.acks=all",), FILES[:1], [(server, 1)]),
        ("no change", (), FILES, [(server, 1)]),
        ("no file", ("producer.acks=all",), [], [("", 1)]),
        (
            "each broker's file", ("min.insync.replicas=2",),
            [named("broker-0:a", b"min.insync.replicas=1\n"), named("broker-1:b", b"\nmin.insync.replicas=1\n")],
            [("broker-0:a", 1), ("broker-1:b", 2)],
        ),
    ]  # fmt: skip
    for title, change, files, wanted_places in cases:
        with subtests.test(title):
            finding = replace(advice_findings(sample_advice())[0], change=change or None)
            assert [(place.path, place.line) for place in places_of(finding, files)] == wanted_places


def test_sarif_has_a_rule_for_each_promise_and_a_result_for_each_finding() -> None:
    run = sarif(changed_by("producer.acks=all", "min.insync.replicas=2"))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(PROMISES)
    lost, read = run["results"]
    assert rules[lost["ruleIndex"]]["id"] == lost["ruleId"] == LOST and read["ruleId"] == READ
    assert [one["physicalLocation"] for one in lost["locations"]] == [
        {"artifactLocation": {"uri": "producer.properties"}, "region": {"startLine": 2}},
        {"artifactLocation": {"uri": "conf/my%20server.properties"}, "region": {"startLine": 4}},
    ]
    text = lost["message"]["text"]
    assert "Change: producer.acks=all and min.insync.replicas=2." in text
    assert text.endswith("Replay: faultline run 'x y.yaml' --seed 2")
    assert read["locations"][0]["message"]["text"] == "no tried change ends it"
    [invocation] = run["invocations"]
    assert invocation["exitCode"] == BROKEN and invocation["executionSuccessful"]
    assert "1 runs are inconclusive: a wait was not reached" in str(invocation["toolExecutionNotifications"])
    assert invocation["toolConfigurationNotifications"][0]["message"]["text"] == "a & b"


def test_sarif_of_other_situations(subtests: pytest.Subtests) -> None:
    lost = changed_by("producer.acks=all")
    with subtests.test("no file: a place that is none of a file"):
        [place] = sarif(lost, [])["results"][0]["locations"]
        assert place["logicalLocations"] == [{"fullyQualifiedName": "producer.acks=all", "kind": "parameter"}]
        assert "physicalLocation" not in place
    with subtests.test("a file outside the project"):
        [place] = sarif(lost, [named("/etc/producer.properties", PRODUCER)])["results"][0]["locations"]
        assert place["physicalLocation"]["artifactLocation"] == {"uri": "file:///etc/producer.properties"}
    with subtests.test("a finding keeps its fingerprint while lines move, another change has another"):
        moved = [FILES[0], named("producer.properties", b"\n\n" + PRODUCER)]
        prints = [
            sarif(report, files)["results"][0]["partialFingerprints"]
            for report, files in ((lost, FILES), (lost, moved), (changed_by("producer.acks=-1"), FILES))
        ]
        assert prints[0] == prints[1] != prints[2]
    with subtests.test("a bug of faultline"):
        bug = Bug("a-fault", 1, "AssertionError: no", Choice("2.8"), "id: a")
        [invocation] = sarif(replace(lost, bugs=((bug, "faultline run a.yaml"),)))["invocations"]
        assert not invocation["executionSuccessful"]
        assert invocation["toolExecutionNotifications"][0]["level"] == "error"
    with subtests.test("nothing is broken"):
        kept = [replace(one, broken=()) for one in lost.advice.summaries]
        assert "results" in sarif(replace(lost, advice=replace(lost.advice, summaries=kept)))


def test_a_case_for_each_promise() -> None:
    suite = suite_of_advice(sample_advice(), 2.0)
    results = {case.name.partition(":")[0]: case.result for case in suite.cases}
    broken = {name for name, result in results.items() if result == "failure"}
    assert broken == {LOST, READ} and len(suite.cases) == len(PROMISES) + 1
    assert b"faultline run &apos;x y.yaml&apos; --seed 2" in junit_xml([suite]).replace(b"'", b"&apos;")
    unsure = sample_advice()
    summaries = [replace(one, conclusive=0) for one in unsure.advice.summaries]
    trusted = suite_of_advice(replace(unsure, advice=replace(unsure.advice, summaries=summaries)), 2.0).cases[0]
    assert (trusted.name, trusted.result) == ("every fault has a conclusive run", "error")


def test_markdown_holds_no_markup_of_others() -> None:
    text = markdown_of_advice(sample_pair_advice(), "single faults", BROKEN)
    assert text.startswith("## ❌ not as expected: settings on Kafka `2.8`\n")
    assert "| `lost-acknowledged` | 1 of 3 | `<b>broker-0</b> loses power while no client writes` |" in text
    assert "<b>" not in "".join(text.split("`")[::2]), "outside of code"


def test_a_workflow_command_is_one_line_and_names_the_place() -> None:
    report = changed_by("min.insync.replicas=2")
    first, second = annotations(report, [named("a,b:server.properties", SERVER)])
    assert first.startswith("::error file=a%2Cb%3Aserver.properties,line=4,title=lost-acknowledged%3A no acknowledged")
    assert "\n" not in first and "%0AWhy: its <tail> went.%0AChange: min.insync.replicas=2.%0AReplay: " in first
    assert second.startswith("::error file=a%2Cb%3Aserver.properties,line=1,title=read-then-lost%3A ")
    assert annotations(report, [])[0].startswith("::error title=lost-acknowledged%3A")
