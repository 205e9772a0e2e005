"""Settings files, `--set` and a scenario's settings: precedence, messages, the verdict."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.cli.commands.run_simulated import simulate_into
from emulator.exit_codes import UNKNOWN
from emulator.judging.judged import play_and_judge
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.specs import machine_for
from emulator.runs.directory import prepare
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.settings_files import read_settings_files
from emulator.runs.timeout_limits import timer_limit_ms
from emulator.runs.verdict_file import Verdict
from emulator.scenario import scenario_model as m
from emulator.scenario.load import ScenarioErrors, load_scenario
from emulator.settings.properties_files import UnusableFile
from emulator.settings.setting_registry import UnusableSetting
from emulator.storage.memory_files import MemoryFiles

FILES = Path(__file__).parents[1] / "settings" / "files"

SCENARIO = """
id: small
title: one write
kafka: [2.6, 0.8.2]
settings: {num.partitions: 1, replica.lag.time.max.ms: 9000, request.timeout.ms: 5000}
settings_by_broker: {2: {zookeeper.session.timeout.ms: 7000}}
settings_by_version:
  2.6: {replica.lag.time.max.ms: 8000}
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a], acks: all}
"""


def small(text: str = SCENARIO, version: str | None = None, *files: Path | str, **overrides: Any) -> Resolved:
    given = {name.replace("_", "."): value for name, value in overrides.items()}
    return resolve(load_scenario(text, "small.yaml"), version, given, read_settings_files(map(str, files)))


def of(resolved: Resolved, name: str) -> list[Any]:
    return [resolved.spec.settings[f"broker-{broker}"].get(name) for broker in (0, 1, 2)]


def verdict_of(resolved: Resolved) -> Verdict:
    return play_and_judge(resolved, 1, run="small").verdict


# --- which counts ---


def test_what_is_later_and_what_is_for_one_broker_counts(tmp_path: Path) -> None:
    common, own = tmp_path / "server.properties", tmp_path / "server-1.properties"
    common.write_text("num.io.threads=4\nreplica.lag.time.max.ms=7000\nzookeeper.session.timeout.ms=6500\n")
    own.write_text("broker.id=1\nreplica.lag.time.max.ms=6000\n")
    assert of(small(), "replica.lag.time.max.ms") == [8000, 8000, 8000]
    given = small(SCENARIO, "2.6", common, own)
    assert of(given, "num.io.threads") == [4, 4, 4]
    assert of(given, "replica.lag.time.max.ms") == [7000, 6000, 7000]
    assert of(given, "zookeeper.session.timeout.ms") == [6500, 6500, 7000]
    reported = "broker-2 keeps zookeeper.session.timeout.ms=7000, which the scenario sets for it alone"
    assert reported in given.account.warnings
    last = small(SCENARIO, "2.6", common, own, replica_lag_time_max_ms=5500)
    assert of(last, "replica.lag.time.max.ms") == [5500, 5500, 5500]


def test_settings_without_effect_reach_no_node_and_are_reported() -> None:
    """By DescribeConfigs, of a broker."""
    resolved = small(log_cleaner_threads=3, min_insync_replicas=2)
    assert resolved.spec.harmless["broker-1"] == {"log.cleaner.threads": 3}
    assert of(resolved, "log.cleaner.threads") == [None] * 3
    broker = resolved.spec.topology.with_role("broker")[1]
    node = machine_for(resolved.spec, broker, MemoryFiles())
    assert isinstance(node, BrokerNode)
    assert (node.file["log.cleaner.threads"], node.file["min.insync.replicas"]) == (3, 2)
    assert (node.file["broker.id"], node.file["broker.rack"]) == (broker.number, broker.az)


def test_a_scenarios_own_files_are_below_its_settings_and_lie_beside_it(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("replica.lag.time.max.ms=1000\nnum.io.threads=3\n")
    script = tmp_path / "small.yaml"
    script.write_text(SCENARIO + "settings_files: [broker:server.properties]\n")
    resolved = resolve(find_scenario(str(script)), "2.6")
    assert of(resolved, "num.io.threads") == [3, 3, 3]
    assert of(resolved, "replica.lag.time.max.ms") == [8000, 8000, 8000]
    assert resolved.scenario.settings_files == () and resolved.scenario.settings["num.io.threads"] == 3


def test_the_scenario_as_played_plays_the_same_again(tmp_path: Path) -> None:
    run = tmp_path / "run"
    prepare(run)
    files = read_settings_files([f"broker:{FILES / 'managed-configuration.properties'}"])
    resolved = resolve(load_scenario(SCENARIO, "small.yaml"), "2.6", {"log.roll.ms": 40_000}, files)
    simulate_into(run, resolved, 1)
    again = resolve(find_scenario(str(run / "scenario.yaml")))
    played = msgspec.structs.replace(resolved.spec, harmless=again.spec.harmless)
    assert again.spec == played, "what changes nothing is not in it"
    assert again.account.not_modelled == tuple(
        msgspec.structs.replace(one, where="settings") for one in resolved.account.not_modelled
    )


# --- versions ---


def test_what_a_version_does_not_have_is_dropped_from_a_scenario_with_a_word() -> None:
    old = small(version="0.8.2")
    (dropped,) = old.account.dropped
    assert (dropped.name, dropped.where) == ("request.timeout.ms", "settings")
    assert dropped.why == "not a setting of Kafka 0.8.2: it came with 0.9"
    assert "request.timeout.ms" not in old.scenario.settings
    assert of(old, "replica.lag.time.max.ms") == [9000, 9000, 9000]
    assert verdict_of(old).valid is True


def test_on_the_command_line_it_is_an_error() -> None:
    with pytest.raises(UnusableSetting, match=r"^request\.timeout\.ms is not a setting of Kafka 0\.8\.2"):
        small(SCENARIO, "0.8.2", request_timeout_ms=1)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("settings: {replica.lag.max.messages: 1}",
         "x.yaml:4:12: replica.lag.max.messages is not a setting of Kafka 2.6, 2.8: it went after 0.8.2"),
        ("settings_by_version: {2.8: {replica.lag.max.messages: 1}}",
         "x.yaml:4:55: replica.lag.max.messages is not a setting of Kafka 2.8: it went after 0.8.2"),
        ("settings_by_version: {2.9: {}}", "x.yaml:4:23: unknown Kafka version '2.9'; one of: "),
        ("settings_by_broker: {0: {tickTime: 1}}", "x.yaml:4:26: tickTime is not one broker's"),
        ("settings_by_broker: {0: {producer.acks: all}}", "x.yaml:4:26: producer.acks is not one broker's"),
        ("settings: {acks: all}", "x.yaml:4:12: unknown setting 'acks': it is a producer's; write producer.acks"),
    ],
)  # fmt: skip
def test_what_no_version_of_the_scenario_has_is_an_error_with_its_place(line: str, problem: str) -> None:
    text = f"id: x\ntitle: x\nkafka: [2.6, 2.8]\n{line}\nsteps: []\n"
    with pytest.raises(ScenarioErrors) as raised:
        load_scenario(text, "x.yaml")
    assert str(raised.value).startswith(problem)


# --- topics and clients ---


def test_settings_of_topics_reach_every_topic_without_an_override() -> None:
    text = SCENARIO + "  - create-topic: {topic: u, assignment: [0], settings: {segment.bytes: 50}}\n"
    given = {"topic.segment.bytes": 100, "topic.retention.ms": -1, "min.insync.replicas": 2}
    made = [step for step in resolve(load_scenario(text, "x.yaml"), "2.6", given).scenario.steps
            if isinstance(step, m.CreateTopic)]  # fmt: skip
    assert [step.configs for step in made] == [{"segment.bytes": 100}, {"segment.bytes": 50}]


def test_what_a_version_does_not_have_is_dropped_from_a_topic() -> None:
    text = SCENARIO + "  - create-topic: {topic: u, assignment: [0], settings: {max.compaction.lag.ms: 50}}\n"
    old = small(text, "0.8.2")
    assert "topic.max.compaction.lag.ms" in [dropped.name for dropped in old.account.dropped]
    assert isinstance(old.scenario.steps[-1], m.CreateTopic) and old.scenario.steps[-1].configs == {}


def test_a_clients_own_settings_are_checked_before_anything_is_played() -> None:
    text = SCENARIO + "  - produce: {client: az-0, values: [b], acks: 1, retries: 1, idempotent: true}\n"
    with pytest.raises(UnusableSetting, match=r"^the produce of b: enable\.idempotence=true needs acks=all$"):
        small(text, "2.6")
    with pytest.raises(ScenarioErrors, match=r"not a producer's setting: 'linger'; nearest: linger\.ms"):
        small(SCENARIO + "  - produce: {client: az-0, values: [b], acks: 1, settings: {linger: 1}}\n")


def test_what_a_client_does_not_act_on_does_not_reach_it() -> None:
    text = SCENARIO + "  - consume: {group: g, settings: {client.id: me, fetch.wait.max.ms: 5}}\n"
    resolved = resolve(load_scenario(text, "x.yaml"), "2.6", {"consumer.check.crcs": False})
    step = resolved.scenario.steps[-1]
    assert isinstance(step, m.Consume) and step.settings == {"fetch.max.wait.ms": 5}
    assert {"consumer.client.id", "consumer.check.crcs"} <= set(resolved.account.without_bearing)


def test_acks_that_are_left_to_the_setting_are_all_by_the_newest_clients_default() -> None:
    """KIP-679: acks=all since Kafka 3.0."""
    text = SCENARIO.replace("acks: all", "acks: producer.acks")
    for given, acks in (({}, -1), ({"producer.enable.idempotence": True}, -1), ({"producer.acks": "0"}, 0)):
        step = resolve(load_scenario(text, "x.yaml"), "2.6", given).scenario.steps[-1]
        assert isinstance(step, m.Produce) and step.acks == acks


# --- what is in force ---


def test_a_session_timeout_is_reported_as_zookeeper_bounds_it(tmp_path: Path) -> None:
    requests_seen = small(SCENARIO, "2.6", zookeeper_session_timeout_ms=60_000)
    (bounded, *_) = requests_seen.account.in_force
    assert (bounded.requested, bounded.value, bounded.where) == (60_000, 20_000, "--set")
    assert bounded.because == "maxSessionTimeout of the session service bounds it, 20 ticks of tickTime=1000"
    prepare(tmp_path / "run")
    simulate_into(tmp_path / "run", requests_seen, 1)
    nodes = msgspec.json.decode((tmp_path / "run" / "settings.json").read_bytes())["nodes"]
    assert nodes["broker-0"]["zookeeper.session.timeout.ms"] == 20_000
    assert nodes["session-0"]["maxSessionTimeout"] == 20_000


@pytest.mark.parametrize(
    ("given", "in_force_ms"),
    [
        ({"maxSessionTimeout": 60_000}, 60_000),
        ({"maxSessionTimeout": 30_000}, 30_000),
        ({"tickTime": 500}, 10_000),
        ({"tickTime": 40_000}, 80_000),
        ({"minSessionTimeout": 70_000, "maxSessionTimeout": 90_000}, 70_000),
    ],
)
def test_the_session_lasts_as_long_as_reported(given: dict[str, int], in_force_ms: int) -> None:
    requests_seen = resolve(
        load_scenario(SCENARIO, "x.yaml"), "2.6", {"zookeeper.session.timeout.ms": 60_000, "initLimit": 1000} | given
    )
    assert [one.value for one in requests_seen.account.in_force if one.where == "--set"] == (
        [] if in_force_ms == 60_000 else [in_force_ms]
    )
    played = play_and_judge(requests_seen, 1, run="x").played
    trees = [node.machine.tree for node in played.world.nodes.values() if node.node.name == "session-0"]  # type: ignore[union-attr]
    timeouts = {session.owner: session.timeout_ms for session in trees[0].sessions.values()}
    assert timeouts["broker-0"] == in_force_ms


def test_timers_need_only_be_as_punctual_as_what_is_in_force() -> None:
    assert timer_limit_ms(small(SCENARIO, "2.6", zookeeper_session_timeout_ms=100)) == pytest.approx(150.0)


def test_an_offsets_topic_with_more_replicas_than_brokers_has_as_many_as_there_are() -> None:
    requests_seen = small(SCENARIO, "0.8.2", offsets_topic_replication_factor=9)
    assert [(one.requested, one.value) for one in requests_seen.account.in_force] == [(9, 3)]
    (warning,) = small(SCENARIO, "2.6", offsets_topic_replication_factor=9).account.warnings
    assert warning == "offsets.topic.replication.factor=9: there are 3 brokers, so such a topic cannot be created"


@pytest.mark.parametrize(
    ("given", "warning"),
    [
        ({"min.insync.replicas": 4},
         "min.insync.replicas=4 of t with 3 replicas: nothing is ever written with acks=all"),
        ({"default.replication.factor": 4},
         "default.replication.factor=4: there are 3 brokers, so such a topic cannot be created"),
        ({"log.flush.interval.ms": 100},
         "log.flush.interval.ms=100: the flusher never does (log.flush.scheduler.interval.ms)"),
        ({"log.flush.interval.ms": 100, "log.flush.scheduler.interval.ms": 5000},
         "log.flush.interval.ms=100: the flusher looks every 5000 ms only (log.flush.scheduler.interval.ms)"),
        ({"group.min.session.timeout.ms": 9, "group.max.session.timeout.ms": 8},
         "group.min.session.timeout.ms=9 is above group.max.session.timeout.ms=8: no member can join"),
        ({"consumer.session.timeout.ms": 5000},
         "consumer.session.timeout.ms=5000: group.min and group.max.session.timeout.ms are 6000 and 1800000, so "
         "brokers would refuse such a member"),
        ({"consumer.request.timeout.ms": 400},
         "consumer.request.timeout.ms=400 is not above fetch.max.wait.ms=500: an idle fetch times out"),
        ({"producer.acks": "all"},
         "producer.acks: every produce of this scenario sets its own (`acks: producer.acks` leaves it to the setting)"),
        ({"producer.linger.ms": 5},
         "settings of producers: every produce of this scenario names its broker, and uses no client's library"),
    ],
)  # fmt: skip
def test_unintended_values_that_kafka_accepts_are_reported(given: dict[str, Any], warning: str) -> None:
    assert resolve(load_scenario(SCENARIO, "x.yaml"), "2.6", given).account.warnings == (warning,)


def test_a_quiet_scenario_has_no_output() -> None:
    assert not small().account


# --- the verdict ---

CLEANED = {"log.cleanup.policy": "compact", "log.segment.bytes": 1000}


def test_checks_that_a_setting_could_change_are_unknown_and_so_is_the_run() -> None:
    verdict = verdict_of(resolve(load_scenario(SCENARIO, "x.yaml"), "2.6", CLEANED))
    assert (verdict.valid, verdict.exit_code) == ("unknown", UNKNOWN)
    unknown = {name for name, check in verdict.checks.items() if check.verdict == "unknown"}
    assert unknown == {"lost-acknowledged", "duplicate", "reordered", "failed-but-stored", "replica-divergence"}
    assert verdict.checks["duplicate"].reason == "log.cleanup.policy=compact could change it, and is not modelled"
    assert verdict.checks["dual-leader"].verdict == "held"
    assert verdict.unknown_because == ["log.cleanup.policy=compact (--set) is not modelled: logs keep everything"]
    assert [one.name for one in verdict.settings.not_modelled] == ["log.cleanup.policy"]


def test_one_that_bears_only_later_changes_nothing_in_a_short_run() -> None:
    verdict = verdict_of(small(SCENARIO, "2.6", connections_max_idle_ms=3_000_000))
    assert verdict.valid is True and verdict.settings.not_modelled[0].from_ms == 3_000_000
    shorter = verdict_of(small(SCENARIO, "2.6", connections_max_idle_ms=1_000))
    assert shorter.valid == "unknown"


def test_an_expectation_about_a_check_in_doubt_is_unknown() -> None:
    text = SCENARIO + "expectations:\n  - {text: none lost, check: {name: lost-acknowledged, verdict: held}}\n"
    verdict = verdict_of(resolve(load_scenario(text, "x.yaml"), "2.6", CLEANED))
    assert [one.held for one in verdict.expectations] == ["unknown"]


# --- files of real life ---


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("2.8", ["vendor-2.8-server.properties", "orders-producer.properties", "orders-consumer.properties"]),
        ("0.10.2", ["broker:cloud-0.10.2-server.properties"]),
        ("2.7", ["operator-server.properties"]),
        ("2.6", ["broker:managed-configuration.properties", "events-topic.properties", "zoo.cfg"]),
        ("0.8.2", ["scala-producer.properties", "scala-consumer.properties"]),
        ("2.6", ["scala-producer.properties", "orders-producer.properties", "orders-consumer.properties"]),
    ],
)
def test_files_of_real_life_are_played(version: str, words: list[str]) -> None:
    paths = [word.rpartition(":") for word in words]
    files = read_settings_files([f"{kind}{colon}{FILES / name}" for kind, colon, name in paths])
    resolved = resolve(load_scenario(SCENARIO, "x.yaml"), version, None, files)
    verdict = verdict_of(resolved)
    assert verdict.valid == ("unknown" if any(not one.from_ms for one in resolved.account.not_modelled) else True)
    assert [e.held for e in verdict.expectations] == []


def test_every_setting_that_was_once_refused_is_accepted() -> None:
    text = SCENARIO.replace("request.timeout.ms: 5000", "num.io.threads: 8, zookeeper.connection.timeout.ms: 6000, "
        "log.retention.ms: 1000, compression.type: lz4, broker.rack: a, num.network.threads: 3, "
        "transaction.state.log.min.isr: 2")  # fmt: skip
    resolved = small(text, "2.6")
    assert [one.name for one in resolved.account.not_modelled] == ["log.retention.ms"]
    assert resolved.account.without_bearing == ("compression.type", "num.network.threads")
    assert [one.name for one in resolved.account.set_here] == ["broker.rack"]
    assert of(resolved, "zookeeper.connection.timeout.ms") == [6000, 6000, 6000]


def test_unreadable_files_are_reported_together(tmp_path: Path) -> None:
    (tmp_path / "x.properties").write_bytes(b"\0")
    os.mkfifo(tmp_path / "pipe")
    words = [f"{tmp_path}/none", f"broker:{tmp_path}", f"{tmp_path}/x.properties", f"{tmp_path}/pipe"]
    with pytest.raises(UnusableFile) as raised:
        read_settings_files([*words, "prodcer:no.properties"])
    assert str(raised.value).splitlines() == [
        f"--settings {tmp_path}/none: cannot be read: No such file or directory",
        f"--settings broker:{tmp_path}: cannot be read: is a directory",
        f"{tmp_path}/x.properties: not a text: it has a byte of 0",
        f"--settings {tmp_path}/pipe: cannot be read: is no regular file",
        "--settings prodcer:no.properties: cannot be read: No such file or directory; nearest: producer:no.properties",
    ]


KRAFT_SCENARIO = """
id: small
title: one start
kafka: [4.4]
metadata: kraft
settings: {controller.quorum.fetch.timeout.ms: 3000}
steps: [{start: controller-0}]
"""


def test_a_controllers_file_is_for_dedicated_controllers_alone(tmp_path: Path) -> None:
    file = tmp_path / "controller.properties"
    file.write_text("process.roles=controller\nnode.id=1\ncontroller.quorum.fetch.timeout.ms=4000\n")
    name = "controller.quorum.fetch.timeout.ms"
    found = small(KRAFT_SCENARIO, "4.4", FILES / "kafka-4-broker.properties", file)
    values = {node: own[name] for node, own in found.spec.settings.items()}
    assert {values[f"controller-{i}"] for i in range(3)} == {4000} and values["broker-0"] == 3000
    text = KRAFT_SCENARIO.replace("kraft", "kraft\nnodes: combined").replace("controller-0", "0")
    combined = small(text, "4.4", file)
    assert combined.spec.settings["broker-0"][name] == 3000
    why = "it is for dedicated controllers, and the cluster has none"
    assert any(line.endswith(why) for line in combined.account.warnings)
