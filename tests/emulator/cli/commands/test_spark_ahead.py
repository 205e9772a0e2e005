"""Spark that gets ready beside a run: one which comes to nothing, or a Java which does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.cli.commands.spark_ahead import OwnSpark
from tests.patience import PATIENCE_S


class Server:
    """A server that starts until it is stopped. Then its start raises an error."""

    def __init__(self) -> None:
        self.stopped = threading.Event()

    @contextmanager
    def session(self, *_: object, **__: object) -> Iterator[None]:
        if self.stopped.wait(PATIENCE_S):
            raise RuntimeError("no answer: the server was stopped")
        yield

    def stop(self, *_: object) -> bool:
        self.stopped.set()
        return True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr("audit.warm_spark.own_session", made.session)
    monkeypatch.setattr("audit.warm_spark.stop", made.stop)
    return made


def test_an_unneeded_warm_up_ends_at_once_whatever_it_prints(server: Server, tmp_path: Path) -> None:
    spark = OwnSpark(tmp_path, tmp_path)
    preparing = threading.Thread(target=spark.get_ready)
    preparing.start()
    spark.abandon()
    preparing.join(PATIENCE_S)
    assert not preparing.is_alive()
    assert spark.problem == "no answer: the server was stopped"


def test_a_bug_is_one_while_the_result_is_awaited(server: Server, tmp_path: Path) -> None:
    server.stop()
    with pytest.raises(RuntimeError, match="no answer: the server was stopped"):
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
    assert "Spark's server did not start" in why and "no" in why and f"to retry: faultline audit {run}" in why
    assert sorted(path.name for path in run.iterdir()) == ["events", "report.html", "verdict.json"]
