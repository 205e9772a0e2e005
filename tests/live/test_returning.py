"""The next step in a response, where a machine is not back yet."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio

from controller.registration import EARLIER_SESSION
from emulator.cluster import control_requests as r
from emulator.cluster.await_registration import LONGER, SHOWN, Returning
from emulator.cluster.player_mailbox import PlayerMailbox
from emulator.machines.node.restarts import Roster
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.reports import NodeExit
from protocol.kinds import ExitKind

START = r.Machine("start", "broker-1")


class Dead:
    """broker-1 was killed at 1 s; its session (6 s, and a tick of 1 s) is over by 8 s.

    It is 4 s.
    """

    def __init__(self, run_dir: Path) -> None:
        self.now_ms = 4_000.0
        self.live = {0, 1, 2}
        self.exits = [NodeExit("broker-1", 1, -9, True, 1_000.0)]
        self.run_dir = run_dir
        self.noted: list[tuple[str, str]] = []
        (run_dir / "events").mkdir()
        cluster = SimpleNamespace(
            exits=self.exits, run_dir=run_dir, clock=SimpleNamespace(speed=1.0), now_ms=lambda: self.now_ms,
            note=lambda *what: self.noted.append(what),
        )  # fmt: skip
        spec = resolve(find_scenario("az-isolated-leader"), "2.6", {"zookeeper.session.timeout.ms": 6_000}).spec
        mailbox = SimpleNamespace(until=self._until, player=SimpleNamespace(seen=SimpleNamespace(live=self.live)))
        self.returning = Returning(cast(Cluster, cluster), cast(PlayerMailbox, mailbox), Roster(spec))

    async def _until(self, holds: Any) -> None:
        if not holds():
            await trio.sleep_forever()

    def refused(self, incarnation: int, why: str) -> None:
        """A life that ends at once."""
        kind = ExitKind.STILL_REGISTERED if why.endswith(EARLIER_SESSION) else ExitKind.CRASHED
        event = {
            "format": 1, "run": "r", "node": "broker-1", "incarnation": incarnation, "seq": 1, "cause": "exit",
            "mono_ms": self.now_ms, "wall_ms": self.now_ms, "at_ms": self.now_ms, "level": "replica",
            "event": "node_stopped", "code": 1, "reason": why, "kind": kind,
        }  # fmt: skip
        (self.run_dir / "events" / f"broker-1.{incarnation}.jsonl").write_text(json.dumps(event) + "\n")
        self.exits.append(NodeExit("broker-1", incarnation, 1, False, self.now_ms))

    def watch(self, limit_s: float = 0.0) -> dict[str, Any]:
        done: dict[str, Any] = {"node": "broker-1", "asked_ms": self.now_ms}
        trio.run(self.returning.until_registered, [done], limit_s)
        return done


@pytest.fixture
def dead(tmp_path: Path) -> Dead:
    return Dead(tmp_path)


def died(dead: Dead, incarnation: int, why: str) -> str:
    dead.refused(incarnation, why)
    with pytest.raises(r.Died) as raised:
        dead.watch()
    return str(raised.value)


def test_a_start_that_is_not_done_names_how_to_wait_and_when_the_earlier_session_expires(dead: Dead) -> None:
    goes_on = f"not ended after 1.5 s; it goes on: {SHOWN} ({LONGER})"
    reported = dead.returning.not_ended(START, 1.5, ["broker-1"])
    assert reported == goes_on + (
        "; broker-1 may exit because its earlier session has not expired: it expires within 4.0 s, "
        "if the ensemble has a quorum, then faultline start broker-1"
    )
    assert dead.returning.not_ended(START, 1.5, ["client-1"]) == goes_on
    dead.live.discard(1)
    assert dead.returning.not_ended(START, 1.5, ["broker-1"]) == goes_on


@pytest.mark.parametrize("fault", ["resume", "kill", "stop", "lose-disk"])
def test_other_commands_name_it_too_where_they_have_it(dead: Dead, fault: r.MachineFault) -> None:
    reported = dead.returning.not_ended(r.Machine(fault, "broker-1"), 1.5, [])
    assert reported == f"not ended after 1.5 s; it goes on: {SHOWN} ({LONGER})"
    assert dead.returning.not_ended(r.Produce("t", ["a"]), 3, []) == f"not ended after 3 s; it goes on ({LONGER})"
    assert dead.returning.not_ended(r.Heal(), 1.5, []) == "not ended after 1.5 s; it goes on"


def test_a_second_start_that_comes_too_early_does_not_make_the_session_live_longer(dead: Dead) -> None:
    why = f"/brokers/ids/1 exists: {EARLIER_SESSION}"
    first = died(dead, 2, why)
    assert first.endswith("it expires within 4.0 s, if the ensemble has a quorum: then faultline start broker-1")
    dead.now_ms = 7_000.0
    assert "it expires within 1.0 s" in died(dead, 3, why)
    dead.live.discard(1)
    assert died(dead, 4, why).endswith(f"{EARLIER_SESSION}; that is over now: faultline start broker-1")
    assert died(dead, 5, "no room on the disk").endswith("ended by itself: no room on the disk")
    assert dead.noted == [("start-refused", "broker-1")] * 4


def test_an_unregistered_node_gets_the_way_to_wait(dead: Dead) -> None:
    dead.live.discard(1)
    done = dead.watch()
    assert done["registered"] is False and done["next"] == f"{SHOWN} ({LONGER})"
