"""`faultline doctor`: a line for each finding, what to do below it, and the exit code."""

import io
import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from emulator.cli.commands.doctor import doctor_command
from emulator.cli.doctor.machine_facts import DockerFacts, Facts, JavaFacts
from tests.emulator.cli.doctor.test_findings import ALL


def doctor_output(facts: Facts) -> tuple[int, str]:
    file = io.StringIO()
    code = doctor_command(False, look=lambda runs_at: facts, console=Console(file=file, width=60, highlight=False))
    return code, file.getvalue()


def test_all_is_well() -> None:
    code, text = doctor_output(ALL)
    assert code == 0
    assert "✓ Java             17 from PATH, /usr/bin/java\n" in text
    assert "→" not in text
    assert text.endswith("make demo works here\n")


def test_what_only_some_commands_need_is_no_failure() -> None:
    code, text = doctor_output(msgspec.structs.replace(ALL, docker=DockerFacts()))
    assert code == 0
    assert "- Docker engine    no docker on PATH\n" in text
    assert "→ install it (apt install docker.io); only --engine docker needs it\n" in text


def test_what_the_demo_needs_is_one() -> None:
    code, text = doctor_output(
        msgspec.structs.replace(ALL, java=JavaFacts(problem="Spark needs Java 17, 21 or 25 (none)"))
    )
    assert code == 1
    assert "✗ Java             Spark needs Java 17, 21 or 25 (none)\n" in text
    assert text.endswith("make demo cannot work here; first fix each line marked ✗\n")


def test_a_wheel_has_no_demo() -> None:
    code, text = doctor_output(msgspec.structs.replace(ALL, tools=frozenset(), tree=False))
    assert code == 0
    assert text.endswith("\nfaultline works here\n")


def test_json_has_every_finding(capsys: pytest.CaptureFixture[str]) -> None:
    def look(runs_at: Path) -> Facts:
        assert runs_at == Path("runs")
        return msgspec.structs.replace(ALL, tools=frozenset())

    assert doctor_command(True, look=look) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["format"], answer["usable"]) == (1, False)
    (make,) = [finding for finding in answer["findings"] if finding["subject"] == "make"]
    assert make == {
        "subject": "make", "state": "missing", "found": "not on PATH",
        "advice": "install make (apt install make)", "required": True,
    }  # fmt: skip
