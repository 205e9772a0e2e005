"""Recovery: DIFF, TRUNC, SNAP, power loss; and what observers see (semantics 5.3)."""

import pytest

from protocol.messages.ensemble import Transaction
from protocol.messages.session_messages import (
    Create,
    Delete,
    GetChildren,
    SessionError,
    SetData,
)
from tests.emulator.machines.session.harness import Ensemble, ObserverNode

SIZES = pytest.mark.parametrize("size", [1, 3, 5])


@SIZES
def test_all_servers_die_and_return_with_everything_that_was_acknowledged(size: int) -> None:
    ensemble = Ensemble(size).launch()
    client = ensemble.add_client("a", timeout_ms=20_000)
    for i in range(5):
        assert ensemble.create("a", f"/n{i}", ephemeral=i == 0).error == 0
    for name in ensemble.names:
        ensemble.world.kill(name)
        ensemble.disks[name].power_loss(lambda path, synced, written: synced, name_changes_kept=0)
    ensemble.world.run_for(1000)
    ensemble.world.start(*ensemble.names)
    ensemble.world.wait_for(lambda: client.states[-1] == "connected" and len(client.states) == 3, 20_000)
    children = ensemble.request("a", GetChildren("/")).results[0].children
    assert children == [f"n{i}" for i in range(5)]


def test_a_returning_server_gets_a_diff_a_trunc_or_a_snap() -> None:
    ensemble = Ensemble(3).launch()
    ensemble.add_client("a", ["session-1"])
    ensemble.create("a", "/before")
    # TRUNC: the leader proposes what nobody hears, dies, and comes back to another term.
    leader = ensemble.server("session-2")
    ensemble.world.cut("alone", ("session-2",), ("session-0", "session-1", "a"))
    lonely = Transaction(0, "operations", 1, 2, 99, [Create("/lonely")])
    assert leader._leading is not None and leader._leading.broadcast is not None
    leader._leading.broadcast._send(ensemble.world.now(), leader._out, lonely)
    leader._out.take()
    assert leader._history.last_zxid == lonely.zxid
    ensemble.world.kill("session-2")
    ensemble.world.wait_for(lambda: ensemble.leader() == "session-1", 8000)
    for i in range(3):
        assert ensemble.create("a", f"/after{i}").error == 0
    ensemble.world.heal()
    ensemble.world.start("session-2")
    ensemble.world.wait_for(lambda: ensemble.server("session-2").serving, 12_000)
    ensemble.world.run_for(100)
    trees = {ensemble.server(name)._replica.tree.snapshot() for name in ensemble.names}
    assert len(trees) == 1
    assert lonely.zxid not in ensemble.server("session-2")._history.zxids
    assert "/lonely" not in ensemble.server("session-2")._replica.tree.znodes
    # SNAP: the follower's place is no longer in the leader's log.
    observer = ensemble.observe("session-0", ["/late"])
    ensemble.world.kill("session-2")
    now = ensemble.server("session-1")
    for i in range(10):
        assert ensemble.create("a", f"/late{i}").error == 0
    now._history._log_max, now._history._log_kept = 5, 2
    ensemble.create("a", "/late")
    assert now._history.base_zxid > 0
    ensemble.world.start("session-2")
    ensemble.world.wait_for(lambda: ensemble.server("session-2").serving, 12_000)
    ensemble.world.run_for(100)
    assert ensemble.server("session-2")._history.snapshot_zxid > 0
    assert len({ensemble.server(name)._replica.tree.snapshot() for name in ensemble.names}) == 1
    assert [z.path for seen in observer.seen for z in seen.changes] == ["/late"]


def test_a_disk_that_fails_ends_the_server() -> None:
    ensemble = Ensemble(1).launch()
    ensemble.add_client("a")
    ensemble.disks["session-0"].capacity_bytes = 0
    ensemble.world.act("a", ensemble.client("a").submitting(Create("/x")))
    ensemble.world.run_for(100)
    assert ensemble.alive() == []
    assert [a.error for a in ensemble.client("a").answers] == [SessionError.CONNECTION_LOSS]


def _paths(observer: ObserverNode) -> list[str]:
    return [("-" if z.data is None else "+") + z.path for seen in observer.seen for z in seen.changes]


def test_an_observer_sees_a_copy_then_every_change_in_order_and_whether_the_server_serves() -> None:
    ensemble = Ensemble(3).launch()
    ensemble.add_client("a", ["session-1", "session-2"])
    ensemble.create("a", "/seen")
    ensemble.create("a", "/other")
    observer = ensemble.observe("session-0", ["/seen"])
    assert _paths(observer) == ["+/seen"] and observer.seen[0].serving
    ensemble.create("a", "/seen/x")
    ensemble.create("a", "/seenmore")
    ensemble.request("a", SetData("/seen/x", b"1"))
    ensemble.request("a", Delete("/seen/x"))
    ensemble.world.run_for(10)
    assert _paths(observer) == ["+/seen", "+/seen/x", "+/seen/x", "-/seen/x"]
    zxids = [z.zxid for seen in observer.seen for z in seen.changes]
    assert zxids == sorted(zxids)
    ensemble.world.isolate("cut", ("session-0",))
    ensemble.world.run_for(1000)
    assert ensemble.create("a", "/seen/late").error == 0
    ensemble.world.run_for(5000)
    assert [seen.serving for seen in observer.seen][-1:] == [False]
    assert "+/seen/late" not in _paths(observer)
    ensemble.world.heal()
    ensemble.world.run_for(10_000)
    assert [seen.serving for seen in observer.seen][-1:] == [True]
    assert _paths(observer)[-1] == "+/seen/late"
