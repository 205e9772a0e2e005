"""Serving: operations, order of answers, the launch of an ensemble (semantics 5.2, 5.3)."""

import pytest

from protocol.events import ZnodeChanged
from protocol.messages.session_messages import (
    Check,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Operation,
    SessionError,
    SetData,
    Sync,
)
from tests.emulator.machines.session.harness import Ensemble

SIZES = pytest.mark.parametrize("size", [1, 3, 5])


@SIZES
def test_an_ensemble_elects_the_highest_server_and_answers_every_operation(size: int) -> None:
    ensemble = Ensemble(size).launch()
    assert ensemble.leader() == f"session-{size - 1}", "equal zxids: the highest server number"
    ensemble.add_client("a")
    assert ensemble.create("a", "/p", b"x").results[0].version == 0
    assert ensemble.request("a", SetData("/p", b"y", 0)).results[0].version == 1
    got = ensemble.request("a", GetData("/p")).results[0]
    assert (got.data, got.version) == (b"y", 1)
    assert ensemble.request("a", Create("/p/n", b"", sequential=True)).results[0].path == "/p/n0000000000"
    assert ensemble.request("a", GetChildren("/p")).results[0].children == ["n0000000000"]
    assert ensemble.request("a", Delete("/p")).error == SessionError.NOT_EMPTY
    assert ensemble.request("a", Check("/p", 1), Delete("/p/n0000000000"), multi=True).error == 0
    assert ensemble.request("a", Exists("/p/n0000000000")).error == SessionError.NO_NODE
    assert ensemble.request("a", Sync("/p")).error == 0


def test_the_leader_of_a_launched_ensemble_does_not_depend_on_the_order_of_starts() -> None:
    ensemble = Ensemble(3)
    for name in ensemble.names:
        ensemble.world.start(name)
        ensemble.world.run_for(500)
    assert ensemble.leader() == "session-2"
    assert all(ensemble.server(name).serving for name in ensemble.names)


def test_a_launched_ensemble_waits_two_seconds_for_a_server_that_does_not_come() -> None:
    ensemble = Ensemble(3)
    ensemble.world.start("session-0", "session-1")
    took = ensemble.world.wait_for(lambda: ensemble.leader() == "session-1", 5000)
    assert 2000 <= took <= 2100
    ensemble.world.start("session-2")
    ensemble.world.wait_for(lambda: ensemble.server("session-2").serving, 2000)
    assert ensemble.leader() == "session-1", "a term is not ended by a higher number"


def test_requests_that_are_none_are_answered_as_bad_arguments() -> None:
    ensemble = Ensemble(1).launch()
    ensemble.add_client("a")
    for ops, multi in (((), False), ((Create("/a"), Create("/b")), False), ((GetData("/"), Check("/", 0)), True)):
        assert ensemble.request("a", *ops, multi=multi).error == SessionError.BAD_ARGUMENTS
    assert ensemble.request("a", GetChildren("/")).results[0].children == []


def test_answers_keep_the_order_of_requests_and_a_client_reads_its_own_writes() -> None:
    ensemble = Ensemble(3).launch()
    for name in ensemble.names:
        client = ensemble.add_client(f"at-{name}", [name])
        path = f"/{name}"
        ops: list[Operation] = [
            Create(path, b"0"),
            GetData(path),
            SetData(path, b"1"),
            GetData(path),
            Delete(path),
            Exists(path),
        ]
        ensemble.world.act(f"at-{name}", client.submitting(*ops))
        ensemble.world.run_for(1000)
        assert [(a.error, a.results[0].data) for a in client.answers] == [
            (0, b""),
            (0, b"0"),
            (0, b""),
            (0, b"1"),
            (0, b""),
            (SessionError.NO_NODE, b""),
        ]


def test_every_server_applies_the_same_and_emits_it() -> None:
    ensemble = Ensemble(3).launch()
    ensemble.add_client("a")
    ensemble.create("a", "/x", b"1")
    ensemble.world.run_for(100)
    seen = {(node, e.path, e.change, e.data) for _, node, e in ensemble.world.events if isinstance(e, ZnodeChanged)}
    assert seen == {(name, "/x", "created", "1") for name in ensemble.names}
    snapshots = {ensemble.server(name)._replica.tree.snapshot() for name in ensemble.names}
    assert len(snapshots) == 1
