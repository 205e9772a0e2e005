"""The soak on a small scale: a few seconds of workload with one cut, to the last record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from emulator.cluster.cluster_registry import registered
from verification.soak.ledger import compare, event_bytes, lateness_of, read_ledger
from verification.soak.process_memory import SUPERVISOR
from verification.soak.soak_plan import SoakOptions
from verification.soak.soak_run import Played, play
from verification.soak.soak_verdict import MUST_HOLD, judge_accounts, judge_cuts, judge_kept

pytestmark = [pytest.mark.network, pytest.mark.slow]

REQUESTED = SoakOptions(minutes=0.5, rate=60.0, cut_every_s=24.0, cut_for_s=6.0, speed=5.0)
AUDIT = dict.fromkeys(MUST_HOLD, "held")
"""The audit has tests of its own; here the ledger is asked."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    run = tmp_path_factory.mktemp("soak") / "soak"
    reports_seen: list[str] = []
    yield play(REQUESTED, run, reports_seen.append)
    assert any("az-0 is cut" in text for text in reports_seen)


def test_every_record_is_accounted_for(played: Played) -> None:
    ledger = read_ledger(played.run, ["client-0", "client-1", "client-2"], played.cuts, REQUESTED.margin_s * 1000.0)
    kept = compare(ledger, played.run, played.in_sync, played.idempotent)
    accounts = judge_accounts(played.reported, ledger.counts)
    assert accounts.held is True, accounts
    judged = judge_kept(kept, AUDIT)
    assert judged.held is True, judged
    assert played.unsettled == ""
    assert {len(brokers) for brokers in played.in_sync.values()} == {3}
    assert kept.acknowledged == played.reported.ok > 500
    assert 0 < ledger.outside.operations < ledger.counts.sent
    assert played.read >= played.reported.ok, "three consumers read everything, but for what came last"


def test_the_cut_was_made_and_healed(played: Played) -> None:
    assert judge_cuts(played.cuts, played.planned).held is True
    (cut,) = played.cuts
    assert cut.az == "az-0" and cut.healed_ms is not None
    assert cut.healed_ms - cut.applied_ms >= REQUESTED.cut_for_s * 1000.0, "it began late and lasted as planned"


def test_memory_and_lateness_of_every_node_are_measured(played: Played) -> None:
    nodes = [f"{kind}-{number}" for kind in ("broker", "session", "client") for number in range(3)]
    assert played.samples.keys() == {*nodes, SUPERVISOR}
    for name, samples in played.samples.items():
        assert len(samples) >= 2, name
        assert all(1.0 < one.mib < 200.0 for one in samples), (name, samples)
    assert lateness_of(played.run, nodes).keys() == {*nodes}
    assert event_bytes(played.run) > 100_000


def test_nothing_is_left(played: Played) -> None:
    assert played.ended == "down"
    assert registered(played.run) is None
    events = str(played.run / "events")
    for process in psutil.process_iter():
        try:
            assert not any(file.path.startswith(events) for file in process.open_files()), process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue


def test_a_record_that_one_replica_lacks_is_seen(played: Played, tmp_path: Path) -> None:
    """The judge that finds nothing above would have found it."""
    copy = tmp_path / "run"
    for path in (played.run / "data").rglob("*"):
        if path.is_file():
            target = copy / "data" / path.relative_to(played.run / "data")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    ledger = read_ledger(played.run, ["client-0", "client-1", "client-2"], played.cuts, 0.0)
    (log,) = (copy / "data" / "broker-1" / "soak-2").glob("*.log")
    os.truncate(log, log.stat().st_size - 1)
    kept = compare(ledger, copy, played.in_sync, played.idempotent)
    assert kept.missing.keys() == {"soak-2 on broker-1"}
    assert judge_kept(kept, AUDIT).held is False
