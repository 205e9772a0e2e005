"""JUnit's XML: what CI makes of a run is what its exit code says."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from emulator.cli.command_options import RunOptions, SimOptions
from emulator.cli.commands.run_scenario import run_command
from emulator.cli.commands.sim import sim_command
from emulator.cli.play_options import ScenarioSettings
from emulator.judging.junit import junit_xml
from emulator.judging.test_cases import Case, Suite, suite_of, suites_of
from emulator.runs.verdict_file import CheckVerdict, ExpectationVerdict, Verdict, compose

NEVER = """
id: never
title: A step that cannot be done
steps:
  - start: 0
  - start: 0
"""


def verdict(**changed: Any) -> Verdict:
    expectations = [ExpectationVerdict("it holds", changed.get("held", True), "1 < 2 & \x1b[31m")]
    check = CheckVerdict(changed.get("check", "held"), changed.get("expected", False), 1, [{"text": "lost <x>"}])
    reasons = changed.get("reasons", [])
    valid = compose(expectations, [check], reasons)
    checks = {"a-check": check}
    return Verdict("r", "s", "sim", valid, expectations, [], checks, {"wall_s": 1.5}, unknown_because=reasons)


@pytest.mark.parametrize(
    ("changed", "failures", "errors"),
    [
        ({}, 0, 0),
        ({"held": False}, 1, 0),
        ({"held": "unknown"}, 0, 1),
        ({"check": "violated"}, 1, 0),
        ({"check": "violated", "expected": True}, 0, 0),
        ({"check": "unknown"}, 0, 1),
        ({"check": "skipped"}, 0, 0),
        ({"reasons": ["timers were late", "a fault did nothing"]}, 0, 1),
    ],
)
def test_a_build_passes_if_the_run_is_valid_and_only_then(changed: dict[str, Any], failures: int, errors: int) -> None:
    found = verdict(**changed)
    root = ElementTree.fromstring(junit_xml([suite_of(msgspec.to_builtins(found))]))
    assert (root.get("failures"), root.get("errors"), root.get("tests")) == (str(failures), str(errors), "3")
    assert (failures + errors == 0) == (found.exit_code == 0)
    assert [suite.get("name") for suite in root] == ["s"]


def test_any_text_survives_as_xml() -> None:
    name = 'a <b> & "c" \x00\x1b\ud800\uffff'
    root = ElementTree.fromstring(junit_xml([Suite(name, (Case(name, "failure", f"{name}\nmore"),))]))
    [case] = root.iter("testcase")
    assert str(case.get("name")).startswith('a <b> & "c" \\u0000\\u001b')
    assert str(case[0].text).endswith("\nmore") and "more" not in str(case[0].get("message"))


def test_runs_of_one_scenario_are_distinguished_and_evidence_by_its_partition() -> None:
    found = msgspec.to_builtins(verdict(check="violated"))
    found["checks"]["a-check"] |= {"count": 3, "evidence": [{"text": "lost <x>", "partition": "t-1"}]}
    root = ElementTree.fromstring(junit_xml(suites_of([found, {**found, "run": "q"}])))
    assert [suite.get("name") for suite in root] == ["s: r", "s: q"]
    assert [case.get("classname") for case in root[0]] == ["faultline.s: r"] * 3
    assert "violated 3\nt-1: lost <x>\nand 2 more" in "".join(root.itertext())


def options(out: Path, junit: Path, **more: Any) -> RunOptions:
    return RunOptions(world="sim", out=out, junit=junit, markdown=junit.with_suffix(".md"), **more)


def test_a_run_writes_it_also_when_it_is_not_played_to_its_end(tmp_path: Path) -> None:
    file, never = tmp_path / "junit.xml", tmp_path / "never.yaml"
    assert run_command("az-isolated-leader", options(tmp_path / "run", file)) == 0
    root = ElementTree.fromstring(file.read_bytes())
    assert root.get("failures") == root.get("errors") == "0" and int(root.get("tests", "0")) > 10
    assert file.with_suffix(".md").read_text().startswith("## ✅ as expected: `az-isolated-leader`\n")
    assert run_command("az-isolated-leader", options(tmp_path / "none", file, audit="none")) == 2
    never.write_text(NEVER, encoding="utf-8")
    code = run_command(str(never), options(tmp_path / "two", file))
    if code == 3:
        assert ElementTree.fromstring(file.read_bytes()).get("errors") == "1"
        assert "It was not played to its end: " in file.with_suffix(".md").read_text()
    else:
        assert code == 2, "refused before it is played"


def test_seeds_are_a_case_each(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    assert sim_command("az-isolated-leader", SimOptions(seeds="1..2", json=True, junit=file)) == 0
    names = [case.get("name") for case in ElementTree.fromstring(file.read_bytes()).iter("testcase")]
    assert names == ["seed 1", "seed 2"]
    wrong = ("replica.lag.time.max.ms=1000000",)
    settings, page = ScenarioSettings(overrides=wrong), tmp_path / "seeds.md"
    code = sim_command(
        "az-isolated-leader", SimOptions(seeds="1..2", settings=settings, json=True, junit=file, markdown=page)
    )
    root = ElementTree.fromstring(file.read_bytes())
    assert code != 0 and int(root.get("failures", "0")) + int(root.get("errors", "0")) == 2
    replay = "faultline run az-isolated-leader --world sim --seed 1"
    assert replay in "".join(root.itertext()) and replay in (tmp_path / "seeds.md").read_text()
