"""A hundred partitions with three replicas over six brokers: time until each has a leader.

And the cost of simulating that cluster through the cut of an AZ.

Speed 1, six brokers and three session servers as processes. From the order to start them: the session servers, the
brokers as soon as these serve, the topic as soon as all brokers are registered and one is the controller. It ends when
each leader's own metadata has its partitions, so that a client would be served.
"""

import gc
import statistics
import tempfile
import time
from pathlib import Path

import msgspec
import trio

from benchmarks.figure_records import Figure, write
from benchmarks.ready import LIMIT_S, Watcher, with_six_nodes
from emulator.judging.judged import play_and_judge
from emulator.machines.node.specs import RunSpec
from emulator.runs.network_run import FACTORY
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario.player.session_writes import SessionWrites
from emulator.scenario.player.topic_placement import all_led, placed
from emulator.scenario.scenario_model import CreateTopic
from emulator.topology import OBSERVER
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.spec import MachineSpec
from protocol.chance import Chance
from protocol.gates import gates_for
from protocol.machine import Effect, Input, Now, Started
from protocol.messages.session_messages import SessionError
from protocol.work import Runner

RUNS = 3
SEEDS = 10
SCENARIO = "many-partitions"


class Creator(Watcher):
    """A machine that creates the topic once the cluster is ready, and observes its leaders."""

    def __init__(self, spec: RunSpec, step: CreateTopic) -> None:
        super().__init__(spec.topology)
        self._topic = step
        self._names = [f"{step.topic}-{number}" for number in range(step.count)]
        self._chance = Chance(1)
        servers = [node.name for node in spec.topology.with_role("session")]
        self._work = Runner(lambda: 0.0, at_once=True)
        self._writes = SessionWrites(servers, self._chance, gates_for(spec.kafka_version), self._work)
        self._asked = False
        self._watched = [node.name for node in spec.topology.with_role("broker")]
        self.led = trio.Event()

    def step(self, now: Now, event: Input) -> list[Effect]:
        effects = super().step(now, event)
        if isinstance(event, Started):
            for name in self._watched:
                self._seen.watch(self._out, name)
        if self.ready.is_set() and not self._asked:
            self._asked = True
            assignment = placed(self._topic, self._seen, self._chance)
            self._writes.create_topic(now, self._out, self._topic.topic, assignment, {}, self._created)
        if self._asked and not self.led.is_set() and all_led(self._names, self._seen):
            self.led.set()
        return effects + self._out.take()

    def _created(self, error: SessionError) -> None:
        assert error == SessionError.OK, error


async def once(directory: Path, resolved: Resolved) -> tuple[float, float]:
    """(seconds until all brokers are ready, until every partition is led)."""
    topology = with_six_nodes(resolved.spec)
    spec = msgspec.structs.replace(resolved.spec, topology=topology)
    arguments = msgspec.to_builtins(spec)
    names = [node.name for node in topology.nodes if node.name != OBSERVER]
    (topic,) = [step for step in resolved.scenario.steps if isinstance(step, CreateTopic)]
    began = time.perf_counter()
    cluster = Cluster(directory, topology, {name: MachineSpec(FACTORY, arguments) for name in names}, speed=1.0)
    with trio.fail_after(LIMIT_S):
        async with cluster:
            creator = Creator(spec, topic)
            await cluster.run_here(OBSERVER, creator)
            await cluster.start(*(name for name in names if name.startswith("session")))
            await creator.serving.wait()
            await cluster.start(*(name for name in names if name.startswith("broker")))
            await creator.ready.wait()
            ready_s = time.perf_counter() - began
            await creator.led.wait()
            led_s = time.perf_counter() - began
    return ready_s, led_s


def main() -> list[Figure]:
    """Medians of RUNS, and of SEEDS in the simulated world."""
    resolved = resolve(find_scenario(SCENARIO))
    ready, led = [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory(prefix="faultline-") as directory:
            ready_s, led_s = trio.run(once, Path(directory), resolved)
        ready.append(ready_s)
        led.append(led_s)
    simulated = []
    for seed in range(SEEDS + 1):
        gc.collect()
        began = time.perf_counter()
        run = play_and_judge(resolved, seed, run="bench")
        simulated.append(time.perf_counter() - began)
        assert run.verdict.valid is True, f"faultline run {SCENARIO} --world sim --seed {seed}"
    figures = [
        Figure(line="a hundred partitions over six brokers started", value=statistics.median(led), unit="s", target=3.0,
               bound=f"{statistics.median(ready):.2f} s of it is the start of nine processes; then 300 logs are made"),
        Figure(line="the cut of an AZ with these partitions, simulated and judged",
               value=statistics.median(simulated[1:]), unit="s", target=2.0,
               bound="8,000 inputs; many concern 50 partitions"),
    ]  # fmt: skip
    write("many_partitions", figures, {"runs": RUNS, "ready_s": ready, "led_s": led, "seeds": SEEDS})
    return figures
