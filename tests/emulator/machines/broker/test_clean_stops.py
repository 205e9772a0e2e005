"""Clean stops, and starts that break off, with several log directories (semantics 3)."""

import pytest

from emulator.storage.files import DiskFailed
from emulator.storage.log_directory import CLEAN_SHUTDOWN
from protocol.events import LogLoaded
from protocol.ids import Offset
from protocol.messages.replication_messages import ProducePartition, ProduceRequest
from verification.broker_bench import Bench, batch, state

DIRECTORIES = ("d0", "d1", "d2", "d3")
SEEDS = range(8)


def written(version: str, seed: int = 0) -> Bench:
    """A record in each of four directories, none of it synced."""
    bench = Bench(version, log_dirs=",".join(DIRECTORIES))
    bench.context.chance = type(bench.context.chance)(seed)
    states = [state(0, 0, (0,), topic_partition=("t", number)) for number in range(len(DIRECTORIES))]
    for one in states:
        one.is_new = True
    bench.leader_and_isr(*states)
    for one in states:
        records = batch("a", magic=bench.magic)
        bench.ask(ProduceRequest(1, 1_500, [ProducePartition(one.topic, one.partition, records)]))
    return bench


def marked(bench: Bench) -> list[str]:
    return [name for name in DIRECTORIES if bench.files.exists(f"{name}/{CLEAN_SHUTDOWN}")]


def stopped(version: str, seed: int) -> Bench:
    """In order, while d1 fails."""
    bench = written(version, seed)
    bench.files.faults.failing.add("d1")
    bench.do(bench.broker.stop)
    return bench


@pytest.mark.parametrize("version", ["1.0", "1.1", "2.4", "2.8"])
def test_every_directory_of_a_clean_stop_has_its_marker(version: str) -> None:
    bench = written(version)
    bench.do(bench.broker.stop)
    assert marked(bench) == [*DIRECTORIES]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_directory_that_fails_leaves_the_others_alone(seed: int) -> None:
    assert marked(stopped("2.8", seed)) == ["d0", "d2", "d3"]


@pytest.mark.parametrize("version", ["1.0", "2.0.1", "2.7"])
def test_up_to_2_7_those_that_come_behind_it_are_not_closed(version: str) -> None:
    """KAFKA-10723. What is not closed is synced, and checked at the next start."""
    outcomes = {tuple(marked(stopped(version, seed))) for seed in SEEDS}
    assert len(outcomes) > 2, "the order is the seed's"
    assert all("d1" not in outcome for outcome in outcomes)
    bench = next(one for one in (stopped(version, seed) for seed in SEEDS) if len(marked(one)) < 3)
    closed = marked(bench)
    bench.files.faults.replaced("d1")
    again = Bench(version, files=bench.files, log_dirs=",".join(DIRECTORIES))
    clean = {event.directory: event.clean for event in again.events(LogLoaded) if event.directory != "d1"}
    assert clean == {name: name in closed for name in ("d0", "d2", "d3")}


@pytest.mark.parametrize("version", ["1.0", "2.7", "2.8"])
def test_a_directory_that_fails_with_nothing_to_sync_leaves_the_others_alone(version: str) -> None:
    """Log.flush does nothing below the recovery point."""
    bench = written(version)
    for log in bench.broker.replicas.logs.values():
        log.flush()
    bench.files.faults.failing.add("d1")
    bench.do(bench.broker.stop)
    assert marked(bench) == ["d0", "d2", "d3"]


@pytest.mark.parametrize(("version", "clean"), [("2.4", True), ("2.7", True), ("2.8", False)])
def test_a_start_that_breaks_off_counts_as_unclean_from_2_8_on(version: str, clean: bool) -> None:
    """KAFKA-10471."""
    bench = written(version)
    bench.do(bench.broker.stop)

    def dies(operation: str, path: str) -> None:
        if operation == "read" and path.endswith(".log"):
            raise DiskFailed(path, "the process dies here")

    bench.files.operation_hook = dies
    Bench(version, files=bench.files, log_dirs=",".join(DIRECTORIES))
    bench.files.operation_hook = None
    again = Bench(version, files=bench.files, log_dirs=",".join(DIRECTORIES))
    loaded = again.events(LogLoaded)
    assert {event.clean for event in loaded} == {clean}
    assert {event.log_end for event in loaded} == {Offset(1)}
