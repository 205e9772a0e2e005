"""Two hundred live commands in a row: valid and invalid, twice, on dead nodes, under writes.

Every one is answered within `ANSWERED_S`; afterwards a heal and a start of what is dead bring the cluster to rest; and
`down` leaves nothing, also when a command was killed in the middle.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from emulator.cluster.cluster_registry import LOG_FILE
from emulator.cluster.control_requests import (
    Consume,
    ControlRequest,
    CreateTopic,
    DescribeTopic,
    ElectPreferred,
    Heal,
    LinkFault,
    Machine,
    MachineFault,
    Produce,
    StartWorkload,
    Status,
    StopWorkload,
    WorkloadStatus,
)
from emulator.faults.link_fault_kinds import Cut, PairLinks, RuleError
from emulator.faults.link_words import parse
from protocol.ids import BrokerId, Offset
from tests.ids import brokers
from tests.live.conftest import Live
from tests.patience import PATIENCE_S

COMMANDS = 200
SEED = int(os.environ.get("FAULTLINE_COMMANDS_SEED", "2026"))
NODES = [f"{kind}-{n}" for kind in ("broker", "session", "client") for n in range(3)]
PLACES = [*NODES * 2, *["az-0", "az-1", "az-2"] * 4, "az-7", "observer", "brokre-1"]
FAULTS: tuple[MachineFault, ...] = (
    "kill", "stop", "pause", "resume", "resume", "start", "start", "start", "power-loss", "disk-full",
    "disk-error", "lose-disk", "lose-disk",
)  # fmt: skip
OWN_END = Cut(links=PairLinks(("az-0", "broker-0")))
"""A cut that the cluster refuses."""
TOPICS = ("t",) * 8 + ("u", "t-0", "none")


def some(chance: Random) -> ControlRequest:
    """Any command, as a person (or a cat on the keyboard) gives it."""
    match chance.randrange(12):
        case 0 | 1 | 2:
            try:
                return LinkFault(parse(link_words(chance)))
            except RuleError:  # the command line refuses it without the cluster
                return LinkFault(OWN_END)
        case 3:
            words = [chance.choice([*PLACES, "rule-1", "rule-9", "all"]) for _ in range(chance.randrange(3))]
            return Heal(words, chance.choice(["", "", "hold"]))
        case 4 | 5 | 6:
            fault: MachineFault = chance.choice(FAULTS)
            node = chance.choice([*NODES * 2, "observer", "no-node"])
            return Machine(fault, node, chance.randrange(-1, 5), chance.choice(["", "", "", "d0"]))
        case 7:
            assignment = [[BrokerId(chance.randrange(4)) for _ in range(chance.randrange(4))]]
            return CreateTopic(chance.choice([*TOPICS, "", "a b"]), assignment)
        case 8 | 9:
            return Produce(
                chance.choice(TOPICS),
                [f"v{chance.randrange(1000)}"],
                partition=chance.choice([0, 0, 0, 5]),
                acks=chance.choice([0, 1, -1]),
                broker=chance.choice([None, None, None, *brokers(0, 1, 2, 9)]),
                retries=chance.choice([0, 3]),
                idempotent=chance.random() < 0.2,
                az=chance.choice(["", "", "az-0", "az-1", "az-2", "az-9"]),
            )
        case 10:
            broker, az = chance.choice([None, None, *brokers(0, 8)]), chance.choice(["", "az-1", "az-9"])
            return Consume(chance.choice(TOPICS), offset=Offset(chance.choice([0, 5, 10**9])), broker=broker, az=az)
        case _:
            return chance.choice(
                [
                    Status(), DescribeTopic(chance.choice(["", *TOPICS])), ElectPreferred(), ElectPreferred(["t-9"]),
                    WorkloadStatus(), StartWorkload(chance.choice(["load", "more"]), chance.choice(TOPICS), 5.0),
                    StopWorkload("", at_once=chance.random() < 0.5),
                ]
            )  # fmt: skip


def link_words(chance: Random) -> list[str]:
    kind = chance.choice(["cut", "cut", "hold", "delay", "loss", "bandwidth", "reset", "ctu"])
    places = [chance.choice(PLACES) for _ in range(chance.choice([1, 1, 2, 2, 3]))]
    if len(places) == 2 and chance.random() < 0.4:
        places.insert(1, "->")
    elif len(places) == 2 and chance.random() < 0.2:
        places = ["opened_by", places[0], "to", places[1]]
    amount = {"delay": ["20ms", "5ms"], "loss": ["5%"], "bandwidth": ["9kB"], "reset": ["500ms"]}.get(kind, [])
    options = chance.choice([[], [], [], ["--only=fetch"], ["--only=controller"], ["--purposes", "x"], ["-->"]])
    return [kind, *places, *(amount if chance.random() < 0.9 else ["much"]), *options]


@pytest.mark.network
def test_two_hundred_random_commands_are_answered_and_leave_nothing_behind(up: Callable[..., Live]) -> None:
    live = up()
    live.did(CreateTopic("t", [list(brokers(0, 1, 2))]))
    chance = Random(SEED)
    took_s: list[tuple[float, ControlRequest]] = []
    codes: dict[int, int] = {}
    for number in range(COMMANDS):
        requested = some(chance)
        began = time.monotonic()
        answer = live.ask(requested)
        took_s.append((time.monotonic() - began, requested))
        codes[answer.code] = codes.get(answer.code, 0) + 1
        assert answer.code in (0, 2, 3), (requested, answer)
        assert answer.code == 0 or (answer.error and "\n" not in answer.error), (requested, answer)
        assert "a bug" not in answer.error, (requested, answer, (live.directory / LOG_FILE).read_text())
        live.look()
        if number == COMMANDS // 2:
            kill_a_command(live)
    took_s.sort(key=lambda one: one[0])
    p99_s, (worst_s, worst) = took_s[int(COMMANDS * 0.99) - 1][0], took_s[-1]
    median_s = took_s[COMMANDS // 2][0]
    print(f"codes {codes}; median {median_s * 1000:.1f} ms, p99 {p99_s:.3f} s, worst {worst_s:.3f} s ({worst})")
    assert codes.get(0, 0) > COMMANDS // 5 and codes.get(2, 0) > COMMANDS // 5, codes
    assert settled(live)


def settled(live: Live) -> bool:
    """Healed, every node there, every replica in sync, and a write acknowledged by all."""
    live.did(Heal())
    live.bring_back(limit_s=PATIENCE_S)
    live.did(StopWorkload("", at_once=True))

    def in_sync() -> bool:
        topics: dict[str, list[dict[str, Any]]] = live.did(DescribeTopic())["topics"]
        return all(sorted(one["isr"]) == sorted(one["replicas"]) for topic in topics.values() for one in topic)

    live.until(in_sync, 60.0)

    def acknowledged() -> bool:
        answer = live.ask(Produce("t", ["last"], acks=-1, timeout_ms=5000), 5.0)
        return answer.code == 0 and answer.result["attempts"][-1]["error"] == 0

    live.until(acknowledged, 30.0)
    return live.status()["faults"] == [] or all(fault["healed"] for fault in live.status()["faults"])


def kill_a_command(live: Live) -> None:
    """The command line dies while the cluster works for it."""
    words = ["consume", "t", "--from-offset", "0", "--wait", "30", "--cluster", str(live.directory)]
    command = subprocess.Popen(
        [sys.executable, "-m", "emulator", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    live.ask(Status())
    command.kill()
    command.wait()
