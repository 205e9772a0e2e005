"""The GitHub Action: its own shell steps, run by bash with inputs as a runner passes them."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = YAML(typ="safe").load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""As a runner starts `shell: bash`."""
STUB = """#!/bin/sh
echo "$*" >> "$RUNNER_TEMP/calls"
while [ $# -gt 1 ]; do
  case $1 in --markdown) echo "summary" > "$2" ;; --sarif) echo "{}" > "$2" ;; esac
  shift
done
exit "$(head -n 1 "$RUNNER_TEMP/codes")$(sed -i 1d "$RUNNER_TEMP/codes")"
"""


class Runner:
    """A job's folders and files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.temp = folder / "work", folder / "temp"
        self.output, self.summary = folder / "output", folder / "summary"
        self.folder.mkdir()
        (self.temp / "faultline" / "bin").mkdir(parents=True)

    def command(self, text: str) -> None:
        place = self.temp / "faultline" / "bin" / "faultline"
        place.write_text(text)
        place.chmod(place.stat().st_mode | stat.S_IXUSR)

    def step(self, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        defaults = {key: str(about.get("default", "")) for key, about in ACTION["inputs"].items()}
        values = defaults | {key.replace("_", "-"): value for key, value in inputs.items()}
        assert values.keys() == defaults.keys()
        variables = {key: INPUT.sub(lambda found: values[found[1]], str(v)) for key, v in STEPS[name]["env"].items()}
        variables |= {"RUNNER_TEMP": str(self.temp), "GITHUB_OUTPUT": str(self.output)}
        variables |= {"GITHUB_STEP_SUMMARY": str(self.summary)}
        for path in (self.output, self.summary):
            path.write_text("")
        return subprocess.run(
            [*BASH, "-c", STEPS[name]["run"]], cwd=self.folder, env=os.environ | variables, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    def stub(self, *codes: int) -> None:
        self.command(STUB)
        (self.temp / "codes").write_text("".join(f"{code}\n" for code in codes))
        (self.temp / "calls").write_text("")

    @property
    def calls(self) -> list[str]:
        return (self.temp / "calls").read_text().splitlines()


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_every_input_is_used_and_no_input_stands_in_a_script() -> None:
    """Text of an input in a script would be code."""
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(INPUT.findall(text)) | set(re.findall(r"inputs\.([\w-]+) [!=]=", text)) == set(ACTION["inputs"])
    assert not [name for name, step in STEPS.items() if "${{" in step["run"]]
    documented = (ROOT / "docs" / "in-ci.md").read_text(encoding="utf-8")
    assert not [name for name in (*ACTION["inputs"], *ACTION["outputs"]) if f"`{name}`" not in documented]


def test_exit_codes(runner: Runner, subtests: pytest.Subtests) -> None:
    cases = [
        ("unknown", (0, 0), 0, 0),
        ("unknown", (1, 0), 1, 1),
        ("unknown", (3, 0), 3, 3),
        ("unknown", (1, 3), 1, 1),
        ("broken", (3, 0), 0, 3),
        ("broken", (3, 1), 1, 1),
        ("never", (1, 3), 0, 1),
        ("never", (2, 1), 2, 2),
        ("never", (70, 1), 70, 70),
        ("never", (1, 70), 70, 70),
        ("sometimes", (0, 0), 2, None),
    ]
    for fail_on, codes, ended, code in cases:
        with subtests.test(f"{fail_on} {codes}"):
            runner.stub(*codes)
            done = runner.step("Play", scenarios="one\ntwo.yaml", fail_on=fail_on)
            assert done.returncode == ended, done.stdout + done.stderr
            assert runner.output.read_text() == ("" if code is None else f"exit-code={code}\n")


def test_scenarios_have_folders_and_the_summary_has_all(runner: Runner) -> None:
    runner.stub(0, 1, 3)
    done = runner.step("Play", scenarios="a b/a.yaml  c", kafka_version="3.9", arguments="--seed 2")
    report = "faultline-report"
    assert runner.calls == [
        f"run {scenario} --seed 2 --kafka-version 3.9 --world sim --out {report}/{name}/run "
        f"--junit {report}/{name}/junit.xml --markdown {report}/{name}/summary.md"
        for scenario, name in (("a", "a"), ("b/a.yaml", "a-2"), ("c", "c"))
    ]
    assert runner.summary.read_text().split() == ["summary"] * 3
    assert [line for line in done.stdout.splitlines() if line.startswith("::")] == [
        "::error title=faultline::b/a.yaml: not as expected; the job summary has the reasons",
        "::warning title=faultline::c: unknown; the job summary has the reasons",
    ]


def test_other_commands(runner: Runner) -> None:
    runner.stub(1, 0)
    done = runner.step("Play", command="advise", files="server.properties producer:p.properties")
    assert done.returncode == 1
    assert runner.calls == [
        "advise server.properties producer:p.properties --out faultline-report/scenarios "
        "--html faultline-report/advice.html --sarif faultline-report/faultline.sarif "
        "--junit faultline-report/junit.xml --markdown faultline-report/summary.md --annotations"
    ]
    assert runner.output.read_text() == "sarif=faultline-report/faultline.sarif\nexit-code=1\n"
    assert runner.step("Play", command="advice").returncode == 2
    assert runner.step("Play", scenarios=" ").returncode == 2
    runner.stub(0)
    assert runner.step("Play", scenarios="a", arguments="--world network").returncode == 0
    assert "--world sim" not in runner.calls[0]


def test_text_of_inputs_is_no_code(runner: Runner) -> None:
    runner.stub(0)
    more = "'a b' $HOME;touch made"
    runner.step("Play", scenarios="$(touch${IFS}made)", kafka_version="`touch made`", arguments=more)
    assert not (runner.folder / "made").exists()
    assert "run $(touch${IFS}made) 'a b' $HOME;touch made --kafka-version `touch made` --world" in runner.calls[0]


@pytest.mark.slow
def test_a_job_of_the_checkout(runner: Runner) -> None:
    runner.command(f"#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m emulator \"$@\"\n")
    done = runner.step("Play")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✅ as expected" in runner.summary.read_text()
    report = runner.folder / "faultline-report" / "az-isolated-leader"
    assert {path.name for path in report.iterdir()} == {"run", "junit.xml", "summary.md"}
    (runner.folder / "server.properties").write_text("broker.rack=a\nlog.flush.interval.messages=9\n")
    more = "--fault every-broker-loses-power-load --seeds 2..2 --set producer.acks=all"
    done = runner.step("Play", command="advise", files="server.properties", kafka_version="2.8", arguments=more)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::error file=server.properties,line=2,title=lost-acknowledged%3A" in done.stderr
    assert "log.flush.interval.messages=1" in runner.summary.read_text()
