"""Rolling restarts: orders, scenarios, and the cost of each step."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.cli.app import app
from emulator.exit_codes import HELD, UNUSABLE
from emulator.judging.advice.advice_cluster import Cluster, of_counts
from emulator.judging.advice.advice_runs import Choice, base_of
from emulator.judging.rolls.roll_runs import RollOptions, play_rolls, roll_options_text
from emulator.judging.rolls.roll_steps import orders, strikes
from emulator.scenario.load import load_scenario
from emulator.topology import KRAFT

SEPARATE, COMBINED, ZOOKEEPER = of_counts(3, 3, KRAFT), of_counts(3, 3, KRAFT, combined=True), of_counts(3, 3)
CONTROLLERS = ("controller-0", "controller-1", "controller-2")


def options_of(cluster: Cluster, version: str, to: str) -> RollOptions:
    choice = Choice(version, ("min.insync.replicas=2",))
    base = base_of(choice, version, cluster)
    rolls = (*orders(base.cluster), *strikes(orders(base.cluster)[0], base.cluster, 14.0, 35.0))
    return RollOptions(
        cluster=base.cluster, choice=choice, to=to, replicas=base.replicas, left_open=base.left_open, rolls=rolls,
        runs=((0, 1),),
    )  # fmt: skip


def test_orders_of_each_kind_of_cluster() -> None:
    assert [one.order for one in orders(ZOOKEEPER)] == [
        ("broker-1", "broker-2", "broker-0"), ("broker-0", "broker-1", "broker-2"),
    ]  # fmt: skip
    assert [one.order for one in orders(COMBINED)] == [one.order for one in orders(ZOOKEEPER)]
    first, last, _ = orders(SEPARATE)
    assert first.order[:3] == last.order[3:] == CONTROLLERS


@pytest.mark.parametrize(
    ("cluster", "version", "to"), [(SEPARATE, "3.9", "4.4"), (COMBINED, "4.4", "4.4"), (ZOOKEEPER, "2.8", "3.9")]
)
def test_every_roll_is_a_scenario_and_a_fault_strikes_another_node(cluster: Cluster, version: str, to: str) -> None:
    options = options_of(cluster, version, to)
    assert len({roll.name for roll in options.rolls}) == len(options.rolls)
    for roll in options.rolls:
        text = roll_options_text(options, roll)
        read = load_scenario(text, f"{roll.name}.yaml")
        assert read.topology == cluster.topology
        assert ('"kafka_version":' in text) is (to != version)
        if roll.strike is not None:
            node = roll.order[roll.strike.at]
            assert node not in str(roll.strike.strike) and cluster.topology.node(node).az not in str(roll.strike.strike)
    protocol = roll_options_text(options, options.rolls[0]).count(f'"inter.broker.protocol.version":"{version}"')
    assert protocol == (cluster is ZOOKEEPER)


@pytest.mark.slow
def test_a_broker_of_4_4_is_down_until_the_session_of_its_former_life_has_ended() -> None:
    options = options_of(SEPARATE, "3.9", "4.4")
    [[upgrade], *_] = play_rolls(options, 1)
    assert upgrade.outcome.broken == {} and upgrade.outcome.inconclusive == ""
    assert [cost.node for cost in upgrade.steps] == list(options.rolls[0].order)
    assert all(cost.down_ms < 5_000 for cost in upgrade.steps[:3])
    restart = play_rolls(options_of(SEPARATE, "4.4", "4.4"), 1)[0][0]
    assert all(8_000 < cost.down_ms < 13_000 for cost in restart.steps[3:]), restart.steps


def run(*words: str) -> int:
    code: Any = app(["plan", "roll", *words], result_action="return_value")
    return int(code)


def test_the_command_prints_an_order_its_cost_and_a_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--kafka-version", "2.6", "--to", "2.8", "--brokers", "2", "--azs", "2", "--no-faults", "--seeds", "1")
    assert run(*words, "--set", "producer.acks=all") == HELD
    text = capsys.readouterr().out
    assert text.startswith("Upgrade of Kafka 2.6 to 2.8 with ZooKeeper: the leader ")
    assert (tmp_path / "runs/roll").is_dir() and "replay: faultline run runs/roll/leader-" in text
    assert run(*words, "--json") == HELD
    document = msgspec.json.decode(capsys.readouterr().out)
    assert document["best"] in {"leader-last", "leader-first"} and len(document["orders"]) == 2


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--kafka-version", "2.8", "--to", "4.4"), "Kafka 4.4: has no ZooKeeper mode"),
        (("--kafka-version", "3.9", "--to", "2.8"), "Kafka 2.8: KRaft mode is not emulated before 3.3"),
        (("--to", "9.9"), "unknown Kafka version '9.9'"),
    ],
)
def test_a_version_that_cannot_be_reached_is_refused(
    words: tuple[str, ...], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == UNUSABLE
    assert f"faultline plan roll: {error}" in capsys.readouterr().err
