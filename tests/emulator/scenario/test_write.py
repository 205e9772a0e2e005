"""A scenario that is written and read back is the same scenario."""

from pathlib import Path

import pytest

from emulator.faults.link_fault_kinds import Reset
from emulator.scenario import conditions as c
from emulator.scenario import scenario_model as m
from emulator.scenario.load import load_scenario
from emulator.scenario.observations.recording_files import load
from emulator.scenario.recorded import scenario_of_recording
from emulator.scenario.write import written
from protocol.ids import BrokerId, Offset
from tests.ids import brokers

ROOT = Path(__file__).parents[3]
CATALOGUE = sorted((ROOT / "scenarios").glob("*.yaml"))
RECORDINGS = sorted((ROOT / "tests" / "golden").glob("*/*.json"))


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda path: path.stem)
def test_catalogue(path: Path) -> None:
    scenario = load_scenario(path.read_text(), str(path))
    assert load_scenario(written(scenario), "written") == scenario


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_recordings(path: Path) -> None:
    scenario = scenario_of_recording(load(path))
    assert load_scenario(written(scenario), "written") == scenario


LINKS = m.PairLinks(("broker-0", "session-1"))

STEPS: tuple[m.AnyStep, ...] = (
    m.CreateTopic(topic="t", assignment=(brokers(0, 1), brokers(1, 2)), configs={"min.insync.replicas": 2}),
    m.CreateTopic(topic="u", partitions=6, replicas=3),
    m.CreateTopic(topic="v"),
    m.Cut(links=LINKS, purposes=("session",), apis=("Fetch", "AlterIsr"), expects_traffic=False, at_s=3),
    m.Hold(links=m.OneWayLinks("az-0", "broker-1")),
    m.Delay(links=m.AzLinks("az-1"), delay_ms=5, jitter_ms=1.5),
    m.Loss(links=m.OpenedLinks("broker-0", "broker-1"), share=0.25),
    m.Bandwidth(links=m.AzLinks("az-0"), bytes_per_s=1500.0),
    Reset(links=m.AzLinks("az-0")),
    Reset(links=LINKS, every_ms=250.0, purposes=("fetcher",)),
    m.Heal(links=LINKS),
    m.Heal(),
    m.Heal(kind="cut"),
    m.Heal(links=LINKS, kind="bandwidth", at_s=5),
    m.PowerLoss(node="broker-1"),
    m.PowerLoss(node="broker-1", batches_kept=0, partition="t-1"),
    m.LoseDisk(node="broker-1"),
    m.Start(node="broker-1"),
    m.Together(steps=(m.Kill(node="broker-1"), m.Kill(node="session-0")), at_s=4),
    m.Together(steps=tuple(m.PowerLoss(node=f"broker-{n}", batches_kept=1, partition="t-1") for n in (0, 2))),
    m.LoseDisk(node="broker-2", directory="d0"),
    m.DiskError(node="broker-0"),
    m.DiskError(node="broker-2", directory="d1"),
    m.DiskFull(node="broker-2", directory="d0"),
    m.ElectController(),
    m.Workload(name="w", topic="u", rate_per_s=0.5, acks=-1, keys=3, idempotent=True, azs=("az-1",), retries=2),
    m.AlterTopic(topic="t", configs={"min.insync.replicas": 2}),
    m.DeleteTopic(topic="u"),
    m.Wait(until=c.Deleted("u"), called="u deleted", limit_s=3),
    m.CreateTopic(topic="u", partitions=6, replicas=3),
    m.ListOffsets(broker=BrokerId(1)),
    m.ListOffsets(broker=BrokerId(1), partition="t-1"),
    m.AlterTopic(topic="u", remove=("flush.ms",)),
    m.AlterBroker(broker=BrokerId(0), configs={"min.insync.replicas": 2}),
    m.AlterBroker(remove=("log.flush.interval.ms",)),
    m.AddPartitions(topic="t", partitions=4, assignment=(brokers(0), brokers(1, 2))),
    m.Reassign(targets=(("t-1", brokers(2, 0)), ("t-0", brokers(1)))),
    m.Workload(name="v", acks=0, consumers=False, value_bytes=7, settings={"linger.ms": 3}),
    m.StopWorkload(name="w", limit_s=3),
    m.StopWorkload(),
    m.Wait(until=c.CaughtUp(), called="equal", limit_s=3, may_time_out=True),
    m.Produce(broker=BrokerId(0), values=("a",), acks=m.ACKS_AS_SET),
    m.DiskFull(node="session-2"),
    m.Background(
        name="w", step=m.Produce(broker=None, client="client-1", values=("7", "yes", ""), acks=-1, idempotent=True)
    ),
    m.Await(name="w", at_s=9.5),
    m.Produce(broker=None, client="client-1", values=("a", "b"), keys=("1", "k"), acks=1, partition="any"),
    m.Produce(broker=None, client="client-1", values=("a", "b"), keys=("1", "k"), acks=1, partition="u-5"),
    m.Record(what="partitions"),
    m.CreateTopic(topic="u", partitions=6, replicas=3, may_fail=True),
    m.ElectController(may_fail=True),
    m.Kill(node="leader:t-1"),
    m.Stop(node="active-controller"),
    m.Cut(links=m.OpenedLinks("leader:t-0", "active-controller")),
    m.AskMetadata(broker="leader:t-0"),
    m.Repeat(times=2, steps=(m.Sleep(seconds=1), m.ElectPreferred(partitions=("t-1",)))),
    m.Record(what="partition-state", partition="t-1"),
    m.Fetch(broker=BrokerId(1), offset=Offset(3), partition="t-1"),
)

CONDITIONS: tuple[c.Condition, ...] = (
    c.NewLeader("t-1"),
    c.Leader(-1, "t-1"),
    c.Not(c.IsrShrunk("t-1")),
    c.AllOf((c.InIsr(0), c.InIsr(1), c.Not(c.AllOf((c.Quiet(2.5), c.NewController()))))),
    c.CaughtUp(),
    c.Every(c.Not(c.Leader(0))),
    c.Every(c.IsrRestored(), "u"),
    c.Isr(frozenset({2, 0})),
    c.Controller(1),
    c.Registered(frozenset({1})),
    c.SessionsExpired(frozenset({0, 2})),
    c.LeadsInView(1, of=2),
)


def test_everything_that_no_file_has_yet() -> None:
    waits = tuple(m.Wait(until=condition, called=f"c{n}", limit_s=5) for n, condition in enumerate(CONDITIONS))
    what = {"label": "l", "replicas": ["broker-1"], "epochs": [[0, 0]]}
    expectation = m.Expectation(text="x", of="snapshot", what=what, kafka=("2.8",))
    scenario = m.Scenario(
        id="x",
        title="x: y",
        kafka=("2.6", "2.8"),
        article="it's # said",
        settings={"tickTime": 500, "producer.acks": "all"},
        settings_by_broker={2: {"zookeeper.session.timeout.ms": 30000, "log.dirs": "d0,d1"}},
        network=m.Network(latency_ms=0.5, recovery="instant"),
        speed=2.5,
        steps=(*STEPS, *waits),
        expectations=(expectation,),
        expects_violations=(m.ExpectedViolation(check="duplicate", because="x", kafka=("2.6",)),),
        expects_exits=(m.ExpectedExit(node="broker-1", because="y", kafka=("2.6",)),),
    )
    assert load_scenario(written(scenario), "written") == scenario
