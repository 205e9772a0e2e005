"""Good scenario files: every verb and every way of saying a condition."""

from textwrap import dedent
from typing import Any

import pytest

from emulator.faults.link_fault_kinds import Reset
from emulator.faults.machine_fault_kinds import ClockJump, SlowDisk
from emulator.scenario import conditions as c
from emulator.scenario import scenario_model as m
from emulator.scenario.load import ScenarioErrors, load_scenario
from emulator.scenario.verbs import VERBS
from emulator.scenario.write import written
from emulator.topology import KRAFT, three_azs
from protocol.ids import BrokerId, LeaderEpoch, Offset
from tests.ids import brokers

HEAD = "id: x\ntitle: x\nsteps:\n  - start: 'broker-*'\n  - create-topic: {topic: t, assignment: [[0, 1], [1, 2]]}\n"


def steps(*lines: str) -> tuple[m.AnyStep, ...]:
    """The steps after the first two, which start brokers and create topic `t` (two partitions)."""
    return load_scenario(HEAD + "".join(f"  - {line}\n" for line in lines), "f.yaml").steps[2:]


AZ0 = m.AzLinks("az-0")

GOOD: list[tuple[str, m.AnyStep]] = [
    ("start: 0", m.Start(node="broker-0")),
    ("start: session-1", m.Start(node="session-1")),
    ("{at_s: 12.5, kill: {node: broker-2}}", m.Kill(node="broker-2", at_s=12.5)),
    ("stop: 1", m.Stop(node="broker-1")),
    ("pause: broker-1", m.PauseNode(node="broker-1")),
    ("resume: 1", m.ResumeNode(node="broker-1")),
    ("disk-full: 1", m.DiskFull(node="broker-1")),
    ("kill: az-0", m.Together(steps=tuple(m.Kill(node=n) for n in ("broker-0", "session-0", "client-0")))),
    ("{at_s: 2, start: [session-1, 'broker-*', 2]}",
     m.Together(steps=tuple(m.Start(node=n) for n in ("session-1", "broker-0", "broker-1", "broker-2")), at_s=2)),
    ("stop: [1]", m.Stop(node="broker-1")),
    ("lose-disk: {node: az-1}", m.LoseDisk(node="broker-1")),
    ("disk-full: {node: 'broker-[12]*'}", m.Together(steps=(m.DiskFull(node="broker-1"), m.DiskFull(node="broker-2")))),
    ("power-loss: {node: [1, session-1], batches_kept: 2}",
     m.Together(steps=(m.PowerLoss(node="broker-1", batches_kept=2), m.PowerLoss(node="session-1")))),
    ("power-loss: 1", m.PowerLoss(node="broker-1")),
    ("power-loss: {node: 1, batches_kept: 2, partition: t-1}",
     m.PowerLoss(node="broker-1", batches_kept=2, partition="t-1")),
    ("lose-unsynced: {node: 1, batches_kept: 1}", m.LoseUnsynced(node="broker-1", batches_kept=1)),
    ("lose-disk: 1", m.LoseDisk(node="broker-1")),
    ("disk-error: broker-1", m.DiskError(node="broker-1")),
    ("cut: az-0", m.Cut(links=AZ0)),
    ("cut: {az: 0, only: [fetch, session], expects_traffic: false}",
     m.Cut(links=AZ0, purposes=("session",), apis=("Fetch",), expects_traffic=False)),
    ("cut: {link: [0, session-1]}", m.Cut(links=m.PairLinks(("broker-0", "session-1")))),
    ("cut: {link: [0, session]}", m.Cut(links=m.PairLinks(("broker-0", "session")))),
    ("cut: {opened_by: 0, to: session}", m.Cut(links=m.OpenedLinks("broker-0", "session"))),
    ("cut: {opened_by: 0, to: 1}", m.Cut(links=m.OpenedLinks("broker-0", "broker-1"))),
    ("cut: {from: 0, to: az-1}", m.Cut(links=m.OneWayLinks("broker-0", "az-1"))),
    ("hold: {az: 0, only: controller}", m.Hold(links=AZ0, purposes=("controller",))),
    ("delay: {az: 0, delay_ms: 5, jitter_ms: 0.5}", m.Delay(links=AZ0, delay_ms=5, jitter_ms=0.5)),
    ("loss: {az: 0, share: 0.1}", m.Loss(links=AZ0, share=0.1)),
    ("reset: az-0", Reset(links=AZ0)),
    ("reset: {az: 0, every_ms: 500}", Reset(links=AZ0, every_ms=500)),
    ("bandwidth: {az: 0, bytes_per_s: 2000}", m.Bandwidth(links=AZ0, bytes_per_s=2000)),
    ("slow-disk: {node: 1, operation_ms: 20}", SlowDisk("broker-1", 20.0)),
    ("clock-jump: {node: 1, jump_ms: 20}", ClockJump("broker-1", 20.0)),
    ("heal", m.Heal()),
    ("heal: az-0", m.Heal(links=AZ0)),
    ("heal: {kind: cut}", m.Heal(kind="cut")),
    ("heal: {link: [0, session], kind: delay}", m.Heal(links=m.PairLinks(("broker-0", "session")), kind="delay")),
    ("create-topic: {topic: u, assignment: [2], settings: {min.insync.replicas: 2}}",
     m.CreateTopic(topic="u", assignment=(brokers(2),), configs={"min.insync.replicas": 2})),
    ("produce: {broker: 0, values: [a, 7, yes], acks: all}",
     m.Produce(broker=BrokerId(0), values=("a", "7", "yes"), acks=-1)),
    ("produce: {broker: 0, values: [a], acks: producer.acks}",
     m.Produce(broker=BrokerId(0), values=("a",), acks=m.ACKS_AS_SET)),
    ("produce: {client: az-1, values: a, acks: 0, retries: 2, timeout_ms: 10, socket_timeout_s: 1, idempotent: true, "
     "partition: t-1}",
     m.Produce(broker=None, client="client-1", values=("a",), acks=0, retries=2, timeout_ms=10, socket_timeout_s=1,
               idempotent=True, partition="t-1")),
    ("produce: {broker: 0, values: [a, b], acks: 1, batch: one message set, compression: gzip, timeout_ms: 8000}",
     m.ProduceMessageSet(broker=BrokerId(0), values=("a", "b"), compression="gzip", acks=1, timeout_ms=8000)),
    ("workload: {name: w, topic: t, rate: 2.5, acks: 1, keys: 3, idempotent: false, retries: 0, azs: [az-1, 2], "
     "value_bytes: 9, consumers: false, settings: {linger.ms: 1}, consumer_settings: {fetch.min.bytes: 1}}",
     m.Workload(name="w", topic="t", rate_per_s=2.5, acks=1, keys=3, retries=0, azs=("az-1", "az-2"), value_bytes=9,
                idempotent=False, consumers=False, settings={"linger.ms": 1},
                consumer_settings={"fetch.min.bytes": 1})),
    ("workload: {name: w, producers: false, group: g, consumer_settings: {session.timeout.ms: 7000}}",
     m.Workload(name="w", producers=False, group="g", consumer_settings={"session.timeout.ms": 7000})),
    ("alter-broker: {broker: 1, settings: {min.insync.replicas: 2}, remove: [log.flush.interval.ms]}",
     m.AlterBroker(broker=BrokerId(1), configs={"min.insync.replicas": 2}, remove=("log.flush.interval.ms",))),
    ("alter-broker: {settings: {num.io.threads: 9}}", m.AlterBroker(configs={"num.io.threads": 9})),
    ("alter-topic: {topic: t, settings: {min.insync.replicas: 2}, remove: flush.ms}",
     m.AlterTopic(topic="t", configs={"min.insync.replicas": 2}, remove=("flush.ms",))),
    ("delete-topic: t", m.DeleteTopic(topic="t")),
    ("add-partitions: {topic: t, partitions: 4}", m.AddPartitions(topic="t", partitions=4)),
    ("add-partitions: {topic: t, partitions: 3, assignment: [2, 0]}",
     m.AddPartitions(topic="t", partitions=3, assignment=(brokers(2, 0),))),
    ("reassign: {partitions: {t-1: [2, 0], t-0: [1]}}",
     m.Reassign(targets=(("t-1", brokers(2, 0)), ("t-0", brokers(1))))),
    ("workload: w", m.Workload(name="w")),
    ("stop-workload", m.StopWorkload()),
    ("library-produce: {values: [c], settings: {enable.idempotence: true, linger.ms: 0}}",
     m.LibraryProduce(library="librdkafka", broker="any", values=("c",),
                      settings={"enable.idempotence": True, "linger.ms": 0})),
    ("produce: {client: az-1, values: [a, b], acks: all, every_s: 0.5, settings: {batch.size: 1}}",
     m.Produce(broker=None, client="client-1", values=("a", "b"), acks=-1, every_s=0.5, settings={"batch.size": 1})),
    ("produce: {client: az-1, transactional_id: tx, values: [a, b], acks: all, records_per_transaction: 1, "
     "partitions: [t-0, t-1], ends: [commit, open]}",
     m.Produce(broker=None, client="client-1", values=("a", "b"), acks=-1, transactional_id="tx",
               records_per_transaction=1, partitions=("t-0", "t-1"), ends=("commit", "open"))),
    ("workload: {name: w, group: g, output: t, transactional_id: tx, records_per_transaction: 5, "
     "group_metadata: false, producers: false}",
     m.Workload(name="w", group="g", output="t", transactional_id="tx", records_per_transaction=5,
                group_metadata=False, producers=False)),
    ("workload: {name: w, transactional_id: tx, abort_ratio: 0.25}",
     m.Workload(name="w", transactional_id="tx", abort_ratio=0.25)),
    ("fetch: {broker: 1, committed: true}", m.Fetch(broker=BrokerId(1), offset=Offset(0), committed=True)),
    ("consume: g", m.Consume(group="g")),
    ("consume: {group: g, partitions: [t-0, t-1], old: true, settings: {auto.offset.reset: smallest}, at_least_s: 3, "
     "limit_s: 9, client: az-2}",
     m.Consume(group="g", partitions=("t-0", "t-1"), old=True, settings={"auto.offset.reset": "smallest"}, at_least_s=3,
               limit_s=9, client="client-2")),
    ("commit: {group: g, offset: 3}", m.Commit(group="g", offset=Offset(3))),
    ("commit: {group: g, offset: 3, leader_epoch: 1, old: true, limit_s: 5, client: az-0, partition: t-1}",
     m.Commit(group="g", offset=Offset(3), leader_epoch=LeaderEpoch(1), old=True, limit_s=5, client="client-0",
              partition="t-1")),
    ("committed: g", m.LookCommitted(group="g")),
    ("committed: {group: g, old: true, settings: {fetch.max.wait.ms: 1}, limit_s: 5, client: az-0, partition: t-1}",
     m.LookCommitted(
         group="g", old=True, settings={"fetch.max.wait.ms": 1}, limit_s=5, client="client-0", partition="t-1")),
    ("fetch: 1", m.Fetch(broker=BrokerId(1), offset=Offset(0))),
    ("fetch: {broker: 1, offset: 7, partition: t-1, client: client-2}",
     m.Fetch(broker=BrokerId(1), offset=Offset(7), partition="t-1", client="client-2")),
    ("metadata: 2", m.AskMetadata(broker=BrokerId(2))),
    ("list-offsets: 2", m.ListOffsets(broker=BrokerId(2))),
    ("list-offsets: {broker: 1, partition: t-1}", m.ListOffsets(broker=BrokerId(1), partition="t-1")),
    ("elect-controller", m.ElectController()),
    ("elect-preferred", m.ElectPreferred()),
    ("elect-preferred: [t-0, t-1]", m.ElectPreferred(partitions=("t-0", "t-1"))),
    ("snapshot: before heal", m.TakeSnapshot(label="before heal")),
    ("record: controller", m.Record(what="controller")),
    ("record: {what: partition-state, partition: t-1}", m.Record(what="partition-state", partition="t-1")),
    ("sleep: 2.5", m.Sleep(seconds=2.5)),
    ("settle: {quiet_s: 3, limit_s: 60}", m.Settle(quiet_s=3, limit_s=60)),
    ("wait: new leader", m.Wait(until=c.NewLeader(), called="new leader", limit_s=90)),
    ("wait: {until: no leader, called: none, limit_s: 5}", m.Wait(until=c.Leader(-1), called="none", limit_s=5)),
    ("repeat: {times: 3, steps: [heal, {sleep: 1}]}", m.Repeat(times=3, steps=(m.Heal(), m.Sleep(seconds=1)))),
]  # fmt: skip


@pytest.mark.parametrize(("line", "step"), GOOD)
def test_step(line: str, step: m.AnyStep) -> None:
    before = ["pause: broker-1"] if isinstance(step, m.ResumeNode) else []
    assert steps(*before, line)[len(before) :] == (step,)


B0, ID = BrokerId(0), "transactional_id: A, producer: 0, epoch: 0"
TRANSACTION: dict[str, Any] = {"broker": B0, "transactional_id": "A", "producer": 0, "epoch": 0}
TRANSACTIONS: list[tuple[str, m.AnyStep]] = [
    ("internal-topics: {assignments: {u: [1, 0]}}", m.InternalTopics(assignments=(("u", brokers(1, 0)),))),
    ("init-producer-id: {broker: 0, transactional_id: A, timeout_ms: 5000, repeat: true}",
     m.InitProducerId(broker=B0, transactional_id="A", timeout_ms=5000, repeat=True)),
    ("find-coordinator: {broker: 0, key: A}", m.FindCoordinator(broker=B0, key="A")),
    (f"add-partitions-to-txn: {{broker: 0, {ID}, partitions: t-0}}",
     m.AddPartitionsToTxn(partitions=("t-0",), **TRANSACTION)),
    (f"add-offsets-to-txn: {{broker: 0, {ID}, group: g}}", m.AddOffsetsToTxn(group="g", **TRANSACTION)),
    (f"txn-offset-commit: {{broker: 0, {ID}, group: g, partition: t-0, offset: 1}}",
     m.TxnOffsetCommit(group="g", partition="t-0", offset=Offset(1), **TRANSACTION)),
    (f"end-txn: {{broker: 0, {ID}, commits: true, v5: true}}", m.EndTxn(commits=True, v5=True, **TRANSACTION)),
    (f"produce-batch: {{broker: 0, {ID}, partition: t-0, values: [a], sequence: 0}}",
     m.ProduceBatch(partition="t-0", values=("a",), sequence=0, **TRANSACTION)),
    ("fetch-batches: {broker: 0, partition: t-0, offset: 0, committed: true}",
     m.FetchBatches(broker=B0, partition="t-0", offset=Offset(0), committed=True)),
    ("offset-fetch: {broker: 0, group: g, partition: t-0, stable: true}",
     m.OffsetFetch(broker=B0, group="g", partition="t-0", stable=True)),
    ("describe-producers: {broker: 0, partition: t-0}", m.DescribeProducers(broker=B0, partition="t-0")),
    ("describe-transaction: {broker: 0, transactional_id: A}",
     m.DescribeTransaction(broker=B0, transactional_id="A")),
]  # fmt: skip


@pytest.mark.parametrize(("line", "step"), TRANSACTIONS)
def test_step_of_a_transaction(line: str, step: m.AnyStep) -> None:
    assert steps(line) == (step,)


QUORUM_VERBS = ("cut-controllers", "describe-quorum", "require-controller", "add-controller", "remove-controller")


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("cut-controllers: {az: 1, controllers: [0, 2]}", m.CutControllers(az="az-1", controllers=(0, 2))),
        ("cut-controllers: {az: az-0, controllers: 1}", m.CutControllers(az="az-0", controllers=(1,))),
        ("describe-quorum: 2", m.DescribeQuorum(controller=2)),
        ("require-controller: 1", m.RequireController(controller=1)),
        ("require-controller", m.RequireController()),
        ("kill: controller-1", m.Kill(node="controller-1")),
        ("wait: active controller", m.Wait(until=c.HasController(), called="active controller")),
        ("wait: {until: {unfenced: 1}}", m.Wait(until=c.Unfenced(1), called="broker-1 unfenced")),
        ("wait: a leader", m.Wait(until=c.HasLeader(), called="a leader")),
    ],
)
def test_step_of_kraft(line: str, step: m.AnyStep) -> None:
    head = "id: x\ntitle: x\nkafka: '3.9'\nmetadata: kraft\nsteps:\n"
    loaded = load_scenario(f"{head}  - {line}\n", "x.yaml")
    assert loaded.steps == (step,)
    assert load_scenario(written(loaded), "x.yaml") == loaded


def test_the_first_controller_of_kraft() -> None:
    loaded = load_scenario("id: x\ntitle: x\nkafka: '3.9'\nmetadata: kraft\nfirst_controller: 2\nsteps: []\n", "x.yaml")
    assert loaded.first_controller == 2
    assert load_scenario(written(loaded), "x.yaml") == loaded


def test_the_nodes_of_kraft() -> None:
    head = "id: x\ntitle: x\nkafka: '3.9'\nmetadata: kraft\nsteps: []\n"
    separate = load_scenario(head, "x.yaml").topology
    combined = load_scenario(head + "nodes: combined\n", "x.yaml").topology
    assert separate == three_azs(metadata=KRAFT)
    assert combined == three_azs(metadata=KRAFT, combined=True)
    assert load_scenario("id: x\ntitle: x\nkafka: '4.0'\nsteps: []\n", "x.yaml").topology == separate
    assert [node.number for node in combined.with_role("controller")] == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kafka: '4.0'\nmetadata: zookeeper\nsteps: []", "2:11: Kafka 4.0: has no ZooKeeper mode"),
        ("kafka: '2.8'\nmetadata: kraft\nsteps: []", "2:11: Kafka 2.8: KRaft mode is not emulated before 3.3"),
        ("nodes: combined\nsteps: []", "1:8: nodes are separate or combined in KRaft alone; set `metadata: kraft`"),
        ("steps:\n  - describe-quorum: 0", "2:22: a quorum of controllers is KRaft's; set `metadata: kraft`"),
        (
            "kafka: '3.9'\nmetadata: kraft\nsteps:\n  - describe-quorum: 7",
            "4:22: there is no controller 7; one of: 0, 1, 2",
        ),
        (
            "kafka: '3.9'\nmetadata: kraft\ntopology: {sessions: 3}\nsteps: []",
            "3:22: KRaft has no ZooKeeper servers; leave out sessions",
        ),
        ("controller_settings: {}\nsteps: []", "1:22: controller_settings are of KRaft's controllers"),
        ("first_controller: 0\nsteps: []", "1:19: a quorum of controllers is KRaft's; set `metadata: kraft`"),
        (
            "kafka: '3.9'\nmetadata: kraft\nfirst_controller: 3\nsteps: []",
            "3:19: there is no controller 3; one of: 0, 1, 2",
        ),
    ],
)
def test_errors_of_kraft(text: str, problem: str) -> None:
    with pytest.raises(ScenarioErrors) as raised:
        load_scenario(text + "\nid: x\ntitle: x\n", "x.yaml")
    assert f"x.yaml:{problem}" in str(raised.value)


def test_every_verb_is_in_the_table_of_good_steps() -> None:
    output = {line.replace("{at_s: 12.5, ", "").partition(":")[0].strip() for line, _ in (*GOOD, *TRANSACTIONS)}
    assert set(VERBS) - output == {"await", *QUORUM_VERBS}


def test_background_steps_are_awaited_by_name() -> None:
    produce = m.Produce(broker=BrokerId(0), values=("b",), acks=-1)
    assert steps("{background: writer, produce: {broker: 0, values: [b], acks: all}}", "await: writer") == (
        m.Background(name="writer", step=produce),
        m.Await(name="writer"),
    )


def test_record_of_two_things_is_two_steps() -> None:
    assert steps("record: [partition-state, controller]") == (
        m.Record(what="partition-state"),
        m.Record(what="controller"),
    )


@pytest.mark.parametrize(
    ("until", "condition", "called"),
    [
        ("preferred leader", c.PreferredLeader(), "preferred leader"),
        ("caught up", c.CaughtUp(), "caught up"),
        ("isr shrunk", c.IsrShrunk(), "isr shrunk"),
        ("{leader: 1}", c.Leader(1), "broker-1 leads"),
        ("{leader: none, partition: t-1}", c.Leader(-1, "t-1"), "no leader"),
        ("{isr: [0, 2]}", c.Isr(frozenset({0, 2})), "isr=[0, 2]"),
        ("{in_isr: 2}", c.InIsr(2), "broker-2 in isr"),
        ("{controller: 2}", c.Controller(2), "broker-2 is controller"),
        ("{registered: 0}", c.Registered(frozenset({0})), "broker-0 registered"),
        ("{session_expired: [0, 1]}", c.SessionsExpired(frozenset({0, 1})), "session of broker-0, broker-1 expired"),
        ("{leads: {broker: 1, seen_by: 1}}", c.LeadsInView(1, 1), "broker-1 leads, as broker-1 sees it"),
        ("{deleted: t}", c.Deleted("t"), "t deleted"),
        ("{quiet_s: 5}", c.Quiet(5), "nothing changed for 5 s"),
        ("{not: new leader}", c.Not(c.NewLeader()), "not new leader"),
        ("{not: {in_isr: 1}}", c.Not(c.InIsr(1)), "not broker-1 in isr"),
        (
            "{leader: 1, isr: [1]}",
            c.AllOf((c.Leader(1), c.Isr(frozenset({1})))),
            "broker-1 leads and isr=[1]",
        ),
    ],
)
def test_condition(until: str, condition: c.Condition, called: str) -> None:
    assert steps(f"wait: {{until: {until}}}") == (m.Wait(until=condition, called=called, limit_s=90),)


def test_a_whole_file() -> None:
    scenario = load_scenario(
        dedent(
            """\
            id: x
            title: All there is to say
              beside steps
            article: >
              What it claims.
            kafka: [2.8.2, 2.6]
            topology:
              nodes:
                broker-0: {az: az-0}
                broker-1: {az: az-1, process.roles: broker}
                controller-0: {az: az-1}
                session-0: {az: az-0}
            settings: {replica.lag.time.max.ms: 5000, unclean.leader.election.enable: true}
            settings_by_broker:
              1: {zookeeper.session.timeout.ms: 30000}
            network: {latency_ms: 0.5, recovery: instant}
            speed: 5
            steps: []
            expectations:
              - {text: it works, check: {name: duplicate, verdict: held}}
              - {text: and so, kafka: 2.6, attempts: {values: [a], error: TimeoutError}}
            expects_violations:
              - {check: dual-leader, because: two lead, kafka: [2.8], count: 1}
            expects_exits:
              - {node: 1, because: it is ahead of its leader, kafka: [2.6]}
            races:
              - name: late
                rule: semantics 4.2
                allows:
                  - {of: timeline, where: {saw: attempt, value: x}, leaf: error, recorded: 0, instead: 6}
            """
        ),
        "f.yaml",
    )
    assert (scenario.title, scenario.article) == ("All there is to say beside steps", "What it claims.")
    assert (scenario.kafka, scenario.default_version) == (("2.8", "2.6"), "2.8")
    assert [(n.name, n.roles, n.az) for n in scenario.topology.nodes] == [
        ("broker-0", ("broker", "controller"), "az-0"),
        ("broker-1", ("broker",), "az-1"),
        ("controller-0", ("controller",), "az-1"),
        ("session-0", ("session",), "az-0"),
        ("observer", ("observer",), ""),
    ]
    assert scenario.settings == {"replica.lag.time.max.ms": 5000, "unclean.leader.election.enable": True}
    assert scenario.settings_by_broker == {1: {"zookeeper.session.timeout.ms": 30000}}
    assert (scenario.network, scenario.speed) == (m.Network(latency_ms=0.5, recovery="instant"), 5)
    assert [e.text for e in scenario.expectations_for("2.8")] == ["it works"]
    assert [e.text for e in scenario.expectations_for("2.6")] == ["it works", "and so"]
    assert list(scenario.violations_expected("2.8")) == ["dual-leader"]
    assert scenario.violations_expected("2.6") == {}
    assert scenario.exits_expected("2.8") == {}
    [exit_expected] = scenario.exits_expected("2.6").values()
    assert (exit_expected.node, exit_expected.because) == ("broker-1", "it is ahead of its leader")
    assert [(race.name, race.allows[0].instead) for race in scenario.races] == [("late", 6)]


def test_the_default_topology_is_three_azs() -> None:
    scenario = load_scenario("id: x\ntitle: x\nsteps: []\n", "f.yaml")
    assert scenario.topology.azs == ("az-0", "az-1", "az-2")
    assert scenario.default_version == "2.6"
