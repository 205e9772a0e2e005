"""Expectations on exceptions, on failed admin commands and on waits that may time out."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.scenario.expectations import EXCEPTIONS
from emulator.scenario.load import ScenarioErrors, load_scenario
from tests.input_outcomes import outcome

ROOT = Path(__file__).parents[2]
HEAD = """
id: outcomes
title: outcomes that are expected
kafka: [2.8]
topology: {brokers: 3}
settings: {zookeeper.session.timeout.ms: 4000, replica.lag.time.max.ms: 4000, min.insync.replicas: 2}
steps:
  - start: [0, 1, 2]
  - create-topic: {topic: t, assignment: [0, 1, 2]}
"""
FAILING = """
  - create-topic: {topic: t, assignment: [0], may_fail: true}
  - add-partitions: {topic: t, partitions: 1, may_fail: true}
  - kill: [1, 2]
  - wait: {until: {session_expired: [1, 2]}, limit_s: 30}
  - delete-topic: {topic: t, may_fail: true}
  - delete-topic: {topic: t, may_fail: true}
  - create-topic: {topic: u, assignment: [1, 2], may_fail: true}
"""


def played(text: str, directory: Path) -> tuple[int | str, list[dict[str, Any]]]:
    code = outcome(text, directory)
    verdict = msgspec.json.decode((directory / "run" / "verdict.json").read_bytes())
    return code, verdict["expectations"]


def test_admin_commands_that_fail(tmp_path: Path) -> None:
    wanted = [
        ("create-topic", "t", "TOPIC_ALREADY_EXISTS"), ("add-partitions", "t", "INVALID_PARTITIONS"),
        ("delete-topic", "t", "TopicAlreadyMarkedForDeletionException"), ("create-topic", "u", "TimeoutException"),
    ]  # fmt: skip
    expected = "".join(
        f"  - {{text: x, admin: {{verb: {verb}, topic: {topic}, error: {error}}}}}\n" for verb, topic, error in wanted
    )
    expected += "  - {text: x, admin: {verb: delete-topic, nth: 1, error: NONE}}\n"
    text = HEAD + FAILING + f"expectations:\n{expected}"
    _, judged = played(text, tmp_path)
    assert [(one["held"], one["seen"]) for one in judged if one["held"] is not True] == []
    assert len(judged) == 5


def test_without_may_fail_it_ends_the_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    killed = "  - kill: [1, 2]\n  - wait: {until: {session_expired: [1, 2]}, limit_s: 30}\n"
    assert outcome(HEAD + killed + "  - create-topic: {topic: u, assignment: [1, 2]}\n", tmp_path) == 3
    assert "u has no leaders after 30 s" in capsys.readouterr().err


@pytest.mark.parametrize(("held", "code"), [("false", 0), ("true", 1)])
def test_whether_a_wait_held(held: str, code: int, tmp_path: Path) -> None:
    steps = "  - wait: {until: no leader, limit_s: 1, called: quick, may_time_out: true}\n"
    ended, judged = played(
        f"{HEAD}{steps}expectations:\n  - {{text: x, wait: {{called: quick, held: {held}}}}}\n", tmp_path
    )
    assert (ended, judged[0]["seen"]) == (code, {"held": False})


def test_a_wait_that_no_step_has_is_refused() -> None:
    text = f"{HEAD}  - wait: new leader\nexpectations:\n  - {{text: x, wait: {{called: new leadr, held: true}}}}\n"
    with pytest.raises(ScenarioErrors, match="unknown wait 'new leadr'; nearest: new leader"):
        load_scenario(text, "x.yaml")


def test_a_producer_that_gave_up(tmp_path: Path) -> None:
    steps = """  - cut: {link: [client-0, 0]}
  - produce:
      {client: client-0, values: [x], acks: all,
       settings: {delivery.timeout.ms: 3000, request.timeout.ms: 2000, linger.ms: 0}}
  - heal
"""
    expected = "expectations:\n  - {text: x, attempts: {values: [x], error: TimeoutException}}\n"
    _, judged = played(HEAD + steps + expected, tmp_path)
    assert [one["held"] for one in judged] == [True], judged


def test_every_exception_of_the_clients_can_be_expected() -> None:
    found = set()
    for path in (ROOT / "emulator" / "machines" / "client").glob("*.py"):
        for part in path.read_text(encoding="utf-8").split('"')[1::2]:
            if part.isidentifier() and part.endswith(("Exception", "Error")):
                found.add(part)
    assert {"TimeoutException", "TimeoutError"} <= found <= set(EXCEPTIONS)
