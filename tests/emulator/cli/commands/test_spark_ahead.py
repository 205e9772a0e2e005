"""Spark that gets ready beside a run: one which comes to nothing, or a Java which does."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.cli.commands.spark_ahead import OwnSpark
from tests.patience import PATIENCE_S


class Java:
    """A JVM that works until it is killed.
    Then each call of it raises an error of its own.
    """

    def __init__(self) -> None:
        self.process, self.log_tail = self, lambda: ""
        self.killed = threading.Event()
        self.kill = self.killed.set

    def session(self, *_: object, **__: object) -> None:
        if not self.killed.wait(PATIENCE_S):
            raise AssertionError("the JVM was not killed")
        raise RuntimeError("no answer: the JVM was killed")

    def poll(self) -> int | None:
        return -9 if self.killed.is_set() else None


@pytest.fixture
def java(monkeypatch: pytest.MonkeyPatch) -> Java:
    made = Java()
    monkeypatch.setattr("audit.spark_session.find_java", lambda _: SimpleNamespace())
    monkeypatch.setattr("audit.spark_session.start_gateway", lambda *_, **__: made)
    monkeypatch.setattr("audit.spark_session.spark_session", made.session)
    return made


def test_an_unneeded_warm_up_ends_at_once_whatever_it_prints(java: Java, tmp_path: Path) -> None:
    spark = OwnSpark(tmp_path, tmp_path)
    preparing = threading.Thread(target=spark.get_ready)
    preparing.start()
    spark.abandon()
    preparing.join(PATIENCE_S)
    assert not preparing.is_alive()
    assert spark.problem == "no answer: the JVM was killed"


def test_a_bug_is_one_while_the_result_is_awaited(java: Java, tmp_path: Path) -> None:
    java.kill()
    with pytest.raises(RuntimeError, match="no answer: the JVM was killed"):
        OwnSpark(tmp_path, tmp_path).get_ready()


def test_a_java_that_does_not_start_costs_the_verdict_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    says = "[ \"$1\" = -version ] && { echo 'version \"17.0.1\"' >&2; exit 0; }"
    java.write_text(f"#!/bin/sh\n{says}\necho no >&2\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    run = tmp_path / "run"
    (run / "events").mkdir(parents=True)
    spark = OwnSpark(run, tmp_path / "scratch")
    try:
        spark.get_ready()
        verdict, code = spark.judge("x", 0.0, 0.0)
    finally:
        spark.close()
    assert (code, verdict["valid"]) == (3, "unknown")
    [why] = verdict["unknown_because"]
    assert f"Java ({java}) ended with code 1" in why and f"to retry: faultline audit {run}" in why
    assert sorted(path.name for path in run.iterdir()) == ["events", "report.html", "verdict.json"]
