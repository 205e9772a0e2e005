"""`faultline.AsyncCluster`: the same methods on trio, and nothing left when it is cancelled."""

import inspect
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio
import trio.testing
from confluent_kafka import Producer

import faultline
from faultline import async_cluster, audit_call
from faultline.async_cluster import AsyncCluster
from faultline.sync_cluster import Cluster
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.trio, pytest.mark.network]


def public(cls: type) -> dict[str, Any]:
    return {name: one for name, one in vars(cls).items() if not name.startswith("_")}


async def test_it_has_the_methods_of_the_other() -> None:
    sync, on_trio = public(Cluster), public(AsyncCluster)
    assert set(on_trio) - set(sync) == {"of"} and set(sync) < set(on_trio)
    waiting = {name: method for name, method in on_trio.items() if inspect.iscoroutinefunction(method)}
    assert set(sync) - set(waiting) == {"directory", "azs", "bootstrap_servers"}
    for name in (*waiting, "bootstrap_servers"):
        assert inspect.signature(sync[name]) == inspect.signature(on_trio[name]), name
    assert inspect.signature(Cluster) == inspect.signature(AsyncCluster)
    assert faultline.AsyncCluster is AsyncCluster


async def test_a_start_that_is_cancelled_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    began, given_up = trio.Event(), []
    token = trio.lowlevel.current_trio_token()

    def launch(run: Path, limit_s: float, look: Callable[[], object]) -> None:
        trio.from_thread.run_sync(began.set, trio_token=token)
        try:
            while True:
                look()
                time.sleep(0.001)
        finally:
            given_up.append(run)

    monkeypatch.setattr(async_cluster, "launch_held", launch)
    async with trio.open_nursery() as nursery:
        cluster = AsyncCluster(directory=tmp_path / "run")
        nursery.start_soon(cluster.__aenter__)
        await began.wait()
        assert (tmp_path / "run").exists()
        nursery.cancel_scope.cancel()
    assert given_up == [tmp_path / "run"] and not (tmp_path / "run").exists()
    with pytest.raises(faultline.FaultlineError, match="async with"):
        await cluster.status()


async def test_an_audit_that_is_cancelled_is_interrupted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there, cleaned = tmp_path / "there", tmp_path / "cleaned"
    code = f"import time\ntry: open({str(there)!r}, 'w'); time.sleep(600)\nfinally: open({str(cleaned)!r}, 'w')"
    monkeypatch.setattr(audit_call, "_command", lambda run: [sys.executable, "-c", code])
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(audit_call.audited_beside, tmp_path)
            while not there.exists():
                await trio.testing.wait_all_tasks_blocked(0.005)
            nursery.cancel_scope.cancel()
    assert cleaned.exists()


def below(directory: Path) -> list[psutil.Process]:
    """Processes of a run."""
    mine = [one for one in psutil.process_iter() if one.pid != os.getpid()]
    return [one for one in mine if str(directory) in " ".join(_command_of(one))]


def _command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


async def test_a_cluster_begun_in_vain_used_and_left_by_a_cancellation(tmp_path: Path, state_home: Path) -> None:
    vain, run = tmp_path / "vain", tmp_path / "run"
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(AsyncCluster(directory=vain).__aenter__)
            while not (vain / "supervisor.log").exists():
                await trio.testing.wait_all_tasks_blocked(0.005)
            nursery.cancel_scope.cancel()
        assert below(vain) == [] and not (vain / "cluster.json").exists()

        with trio.CancelScope() as scope:
            async with faultline.AsyncCluster(directory=run) as cluster:
                await cluster.create_topic("orders", assignment=[[0, 1, 2]])
                producer = Producer({"bootstrap.servers": cluster.bootstrap_servers("az-1"), "acks": "all"})
                producer.produce("orders", b"paid")
                assert await trio.to_thread.run_sync(producer.flush, 30.0) == 0
                assert await cluster.settle()
                rule = await cluster.cut("az-0", "az-1")
                assert [one["id"] for one in (await cluster.status())["faults"] if one["healed"] is None] == [rule]
                with pytest.raises(faultline.Refused, match="az-9"):
                    await cluster.cut("az-9")
                with trio.move_on_after(0):
                    await cluster.heal()
                await cluster.heal()
                await cluster.kill("client-2")
                assert below(run)
                scope.cancel()
                await cluster.status()
        assert scope.cancelled_caught and below(run) == []
    assert cluster.directory == run and (run / "events").is_dir()


@pytest.mark.faultline(audit=False)
async def test_the_fixtures_cluster_for_a_test_on_trio(
    faultline_cluster: Cluster, faultline_async_cluster: AsyncCluster
) -> None:
    await faultline_async_cluster.create_topic("orders", replicas=3)
    rule = await faultline_async_cluster.cut("az-0")
    assert [one["id"] for one in faultline_cluster.status()["faults"]] == [rule]
    for place in ("", "az-1"):
        assert faultline_async_cluster.bootstrap_servers(place) == faultline_cluster.bootstrap_servers(place)
    assert faultline_async_cluster.directory == faultline_cluster.directory


async def test_client_ids_and_messages_may_be_one_text_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    async def do(_self: AsyncCluster, what: Any) -> dict[str, Any]:
        sent.append(what.fault)
        return {"applied": [{"id": "rule-1"}]}

    monkeypatch.setattr(AsyncCluster, "_do", do)
    cluster = AsyncCluster()
    assert await cluster.cut("client-1", "broker-0", only=["Fetch, Produce"], client_id="orders, others") == "rule-1"
    await cluster.cut("client-1", "broker-0", only=["Fetch", "Produce"])
    await cluster.loss("client-0", "->", "broker-0", share=0.5)
    assert (sent[0].client_ids, sent[0].apis) == (("orders", "others"), sent[1].apis) and len(sent[0].apis) == 2
    assert sent[2].share == 0.5
    with pytest.raises(faultline.Refused, match="did you mean delay_ms"):
        await cluster.link_fault("delay", ["az-0"], delay=1.0)
    with pytest.raises(faultline.Refused, match="delay_ms"):
        await cluster.link_fault("delay", ["az-0"])
    assert len(sent) == 3


async def test_there_is_none_of_a_cluster_that_does_not_run() -> None:
    with pytest.raises(faultline.FaultlineError, match="does not run"):
        AsyncCluster.of(Cluster())
