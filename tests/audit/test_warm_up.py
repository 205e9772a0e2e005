"""What is audited to warm a session up: all checks, some at a time, until that is enough."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from audit.checks.registry import CHECKS
from audit.warm_up import warm_up

NO_SESSION: Any = None


@pytest.fixture
def audits(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The checks of each audit that was asked for."""
    asked: list[list[str]] = []

    def audited(_spark: object, runs: list[Path], *, checks: Any, **_: object) -> list[Any]:
        assert all((run / "events").is_dir() for run in runs)
        asked.append([check.name for check in checks])
        return [SimpleNamespace(valid=True)]

    monkeypatch.setattr("audit.run.audit_runs", audited)
    return asked


def test_every_check_is_asked_for_once(audits: list[list[str]], tmp_path: Path) -> None:
    warm_up(NO_SESSION, tmp_path)
    assert [name for names in audits for name in names] == list(CHECKS)
    assert len(audits) > 1


def test_it_ends_when_that_is_enough(audits: list[list[str]], tmp_path: Path) -> None:
    warm_up(NO_SESSION, tmp_path, enough=lambda: len(audits) == 2)
    assert len(audits) == 2
    warm_up(NO_SESSION, tmp_path, enough=lambda: True)
    assert len(audits) == 2
