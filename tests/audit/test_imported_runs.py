"""Audits of imported runs: real brokers', damaged ones, the emulator's own lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from audit.audited_run import audit_runs
from audit.checks.check_registry import CHECKS
from emulator.runs.importing.evidence_limits import NEEDED, WHAT_IS_MISSING
from emulator.runs.verdict_file import Verdict
from tests.emulator.runs.importing.conftest import import_folders
from tests.emulator.runs.importing.test_hostile_files import damage_all
from tests.emulator.runs.importing.test_incident import sent_of
from tests.real_logs import truth_of, unpacked
from verification.import_round_trip import collect_as_operator, import_collected, simulate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CUT_OFF, LAST = "az-isolated-leader@3.9", "kraft-last-replica-standing@4.4"
SHARED = ("replica-divergence", "leader-epoch-monotonicity", "epoch-cache")
"""Checks whose evidence lines and disks of 3.9 have, without copies of truncated records."""


def test_every_check_has_its_evidence_listed() -> None:
    assert NEEDED.keys() == CHECKS.keys()
    assert {one for needed in NEEDED.values() for one in needed} <= WHAT_IS_MISSING.keys()


@pytest.fixture(scope="module")
def verdicts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    folder = tmp_path_factory.mktemp("imports")
    real = unpacked(folder / "real")
    for name in (CUT_OFF, LAST):
        import_folders(folder / name, real / name, sent=sent_of(truth_of(real / name), "t"))
    import_folders(folder / "without-clients", real / CUT_OFF)
    damage_all(real / CUT_OFF, folder / "damaged-files", 5)
    import_folders(folder / "damaged", folder / "damaged-files")
    version = simulate("az-isolated-leader", folder / "played", "3.9")
    collect_as_operator(folder / "played", folder / "collected")
    import_collected(folder / "collected", folder / "again", version)
    names = (CUT_OFF, LAST, "without-clients", "damaged", "played", "again")
    found = audit_runs(spark, [folder / name for name in names], scratch=str(folder / "scratch"))
    return dict(zip(names, found, strict=True))


def test_acknowledged_records_that_the_cut_off_leader_took_are_lost(verdicts: dict[str, Verdict]) -> None:
    checks = verdicts[CUT_OFF].checks
    assert (checks["lost-acknowledged"].verdict, checks["lost-acknowledged"].count) == ("violated", 4)
    assert checks["lost-acknowledged"].by_acks == {"1": 4}
    assert (checks["dual-leader"].verdict, checks["dual-leader"].count) == ("violated", 1)


def test_a_record_acknowledged_by_all_is_lost_by_an_unclean_election(verdicts: dict[str, Verdict]) -> None:
    lost = verdicts[LAST].checks["lost-acknowledged"]
    values = [one["offset"] for one in lost.evidence if one["acks"] == -1]
    assert (lost.verdict, values) == ("violated", [2])


def test_a_check_without_evidence_says_what_to_collect(verdicts: dict[str, Verdict]) -> None:
    check = verdicts["without-clients"].checks["lost-acknowledged"]
    assert (check.verdict, check.reason) == ("unknown", WHAT_IS_MISSING["clients"])
    assert verdicts["without-clients"].checks["log-matching"].verdict == "held"


def test_damaged_lines_let_no_check_hold(verdicts: dict[str, Verdict]) -> None:
    assert "held" not in {check.verdict for check in verdicts["damaged"].checks.values()}


def test_the_emulators_own_lines_give_the_same_audit_or_less(verdicts: dict[str, Verdict]) -> None:
    played, again = verdicts["played"].checks, verdicts["again"].checks
    assert {name: again[name].verdict for name in SHARED} == {name: played[name].verdict for name in SHARED}
    assert all(check.verdict in ("unknown", played[name].verdict) for name, check in again.items())
    assert again["dual-leader"].reason == WHAT_IS_MISSING["removed"]
