"""`faultline explain` and `faultline diff`, on simulated runs."""

import json
import shutil
from pathlib import Path

import pytest

from emulator.cli.commands.diff import diff_command
from emulator.cli.commands.explain import explain_command
from emulator.cli.commands.explain_metadata import committed_states
from emulator.cli.commands.run_simulated import simulate_into
from emulator.runs.directory import prepare
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario.load import load_scenario


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The dual leader, seed 1 twice and seed 2."""
    folder = tmp_path_factory.mktemp("runs")
    resolved = resolve(find_scenario("az-isolated-leader"), "2.6")
    made = {}
    for name, seed in (("one", 1), ("same", 1), ("two", 2)):
        made[name] = folder / name
        prepare(made[name])
        simulate_into(made[name], resolved, seed)
    return made


def printed_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Lines without their times and causes."""
    return [line.split(" s  ", 1)[1].rsplit("  [", 1)[0] for line in capsys.readouterr().out.splitlines()]


def test_a_lost_record_is_followed_to_its_truncation(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """az-isolated-leader: the isolated leader acknowledged c, and cut it after the heal."""
    assert explain_command(runs["one"], "c") == 0
    assert printed_lines(capsys) == [
        "observer   is about to write 'c', acks=1",
        "observer   sends attempt 1 to broker-0",
        "broker-0   appends it as leader at offset 2, epoch 0 (t-0)",
        "observer   attempt 1: acknowledged at offset 2",
        "observer   outcome: ok",
        "broker-0   cuts its log to 2: the record at offset 2 is gone (epoch)",
    ]


def test_a_record_of_a_transaction_is_followed_to_its_marker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """txn-delayed-end: the late EndTxn commits c, and the application aborts it."""
    prepare(tmp_path)
    simulate_into(tmp_path, resolve(find_scenario("txn-delayed-end"), "3.9"), 1)
    assert explain_command(tmp_path, "c") == 0
    lines = printed_lines(capsys)
    story = [
        "client-0   begins transaction 2 of payments",
        "client-0   is about to write 'c', acks=all",
        "broker-1   writes: payments is Ongoing (t-0)",
        "broker-2   high watermark 4: consumers at read_uncommitted may read it",
        "broker-1   writes: payments is PrepareCommit (t-0)",
        "broker-2   appends COMMIT at offset 4: consumers at read_committed may read it",
        "broker-0   copies COMMIT at offset 4",
        "client-0   calls abortTransaction",
        "client-0   the producer is at its end: InvalidTxnStateException",
    ]
    assert [line for line in lines if line in story] == story
    assert explain_command(tmp_path, "b", partition="t-0") == 0
    assert "client-0   its commit is acknowledged" in printed_lines(capsys)


def test_lines_that_are_no_events_are_not_a_run_in_which_nothing_was_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "broker-0.1.jsonl").write_text("something\n{}\n")
    assert explain_command(tmp_path, "c") == 2
    assert capsys.readouterr().err == f"faultline explain: {tmp_path}: no line of broker-0.1.jsonl is an event\n"
    assert diff_command(tmp_path, tmp_path) == 2
    assert "no line of broker-0.1.jsonl is an event" in capsys.readouterr().err


def test_an_offset_lists_every_record_that_ever_lay_there(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two records lay at offset 2: c with epoch 0, and f with epoch 1, which stayed."""
    assert explain_command(runs["one"], "2") == 0
    lines = printed_lines(capsys)
    assert sum("appends it as leader at offset 2, epoch 0" in line for line in lines) == 1
    assert sum("appends it as leader at offset 2, epoch 1" in line for line in lines) == 1
    assert sum("copies it from its leader at offset 2, epoch 1" in line for line in lines) == 2
    assert any("the record at offset 2 is gone" in line for line in lines)


def test_a_value_without_a_write_is_reported(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """One clear line, exit code 2: that is no verdict."""
    assert explain_command(runs["one"], "nothing-like-it") == 2
    assert capsys.readouterr().err == (
        f"faultline explain: no event of {runs['one']} is about 'nothing-like-it'; no such value was sent\n"
    )


def test_a_directory_without_events_is_unusable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and where events would be."""
    assert explain_command(tmp_path, "c") == 2
    assert "holds no events; a run's directory has them in events/*.jsonl" in capsys.readouterr().err
    assert diff_command(tmp_path, tmp_path) == 2


def test_the_same_seed_does_not_part(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Same seed, same run."""
    assert diff_command(runs["one"], runs["same"]) == 0
    assert "the runs are the same" in capsys.readouterr().out
    assert diff_command(runs["one"], runs["same"], json=True) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_other_seeds_diverge_and_the_earliest_place_is_reported(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The first line names node, event and time."""
    assert diff_command(runs["one"], runs["two"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("first difference at ")
    assert str(runs["one"]) in out[1] and str(runs["two"]) in out[2]
    assert diff_command(runs["one"], runs["two"], json=True) == 1
    partings = json.loads(capsys.readouterr().out)
    assert f"first difference at {partings[0]['node']}, event {partings[0]['index'] + 1}, " in out[0]
    assert partings == sorted(partings, key=lambda parting: parting["at_ms"])


TWO_PARTITIONS = """
id: two-partitions
title: The same value in two partitions
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [[0, 1, 2], [1, 2, 0]]}
  - produce: {broker: 0, values: [a], acks: all}
  - produce: {broker: 1, partition: t-1, values: [x, a], acks: all}
  - sleep: 2
"""


@pytest.fixture(scope="module")
def two_partitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`a` lies at offset 0 of t-0 and at offset 1 of t-1."""
    run = tmp_path_factory.mktemp("two") / "run"
    prepare(run)
    simulate_into(run, resolve(load_scenario(TWO_PARTITIONS, "two.yaml"), "2.6"), 1)
    return run


def test_partitions_are_reported_one_after_the_other(two_partitions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its own watermarks, below its name."""
    assert explain_command(two_partitions, "a") == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert (first.splitlines()[0], second.splitlines()[0]) == ("t-0", "t-1")
    assert "(t-1)" not in first and "(t-0)" not in second
    assert "high watermark 1: consumers may read it" in first and "high watermark 2" not in first
    assert "high watermark 2: consumers may read it" in second and "high watermark 1" not in second
    assert [part.count("is about to write 'a'") for part in (first, second)] == [1, 1]


def test_one_partition_can_be_requested(two_partitions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are named where it is not there."""
    assert explain_command(two_partitions, "a", partition="t-1", json=True) == 0
    printed_lines = json.loads(capsys.readouterr().out)
    assert {moment["partition"] for moment in printed_lines} == {"t-1"}
    assert printed_lines[0]["text"] == "is about to write 'a', acks=all"
    assert explain_command(two_partitions, "1", partition="t-1") == 0
    capsys.readouterr()
    assert explain_command(two_partitions, "a", partition="t-7") == 2
    assert capsys.readouterr().err == "faultline explain: 'a' was never in t-7; it was in t-0, t-1\n"


def test_an_offset_is_reported_by_partition(two_partitions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Offset 0 of each: `a` and `x` have nothing to do with each other."""
    assert explain_command(two_partitions, "0") == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert first.startswith("t-0\n") and second.startswith("t-1\n")
    assert first.count("acknowledged at offset 0") == second.count("acknowledged at offset 0") == 1


DELETED = """
id: deleted-and-anew
title: A topic is deleted, and another one of its name has another record at the same offset
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a], acks: all}
  - sleep: 2
  - delete-topic: t
  - wait: {until: {deleted: t}}
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [b], acks: all}
"""


def test_a_record_goes_with_its_topic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    prepare(run)
    simulate_into(run, resolve(load_scenario(DELETED, "deleted.yaml"), "2.6"), 1)
    assert explain_command(run, "a") == 0
    lines = printed_lines(capsys)
    assert sorted(lines[-3:]) == [
        f"broker-{n}   deletes its log: the record is gone (topic-deleted)" for n in range(3)
    ]
    assert explain_command(run, "b") == 0
    assert not any("gone" in line for line in printed_lines(capsys))


NEVER_CHOSEN = """
id: never-chosen
title: The run ends before a partitioner knows the topic
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [[0, 1, 2], [1, 2, 0]]}
  - cut: az-2
  - produce: {client: az-2, values: [a], acks: all, partition: any}
    background: write
  - sleep: 1
"""


def test_a_value_sent_to_no_partition_is_reported_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    prepare(run)
    simulate_into(run, resolve(load_scenario(NEVER_CHOSEN, "never.yaml"), "2.6"), 1)
    assert explain_command(run, "a", json=True) == 0
    (moment,) = json.loads(capsys.readouterr().out)
    assert (moment["partition"], moment["text"]) == ("t, no partition chosen", "is about to write 'a', acks=all")


@pytest.fixture(scope="module")
def other_value(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As two_partitions, but for what is written to t-1."""
    run = tmp_path_factory.mktemp("other") / "run"
    prepare(run)
    text = TWO_PARTITIONS.replace("partition: t-1, values: [x, a]", "partition: t-1, values: [y, a]")
    simulate_into(run, resolve(load_scenario(text, "two.yaml"), "2.6"), 1)
    return run


def test_runs_are_compared_in_one_partition(
    two_partitions: Path, other_value: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They part in t-1, by what a client sent there."""
    assert diff_command(two_partitions, other_value, partition="t-0") == 0
    assert capsys.readouterr().out == "the runs are the same of t-0, node by node; only timestamps differ\n"
    assert diff_command(two_partitions, other_value, json=True, partition="t-1") == 1
    [parting] = json.loads(capsys.readouterr().out)
    assert (parting["node"], parting["left"]["value"], parting["right"]["value"]) == ("observer", "x", "y")
    assert diff_command(two_partitions, other_value) == 1
    assert "first difference at observer" in capsys.readouterr().out


def test_a_partition_that_is_in_neither_run_is_no_equality(
    two_partitions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in ("t-9", "u-0", "t"):
        assert diff_command(two_partitions, two_partitions, partition=wrong) == 2
        message = f"faultline diff: no event of either run is of {wrong}; partitions: t-0, t-1\n"
        assert capsys.readouterr() == ("", message)


def test_lines_that_are_no_events_are_counted_by_file(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Something else, a line that was cut off and an event without its fields."""
    run = tmp_path / "damaged"
    shutil.copytree(runs["one"], run)
    file = run / "events" / "broker-0.1.jsonl"
    first, *_ = file.read_text().splitlines()
    with file.open("a") as more:
        more.write("something\n" + first[:-5] + '\n{"event":"batch_appended","node":"broker-0"}\n')
    assert explain_command(run, "c") == 0
    assert capsys.readouterr().err == f"faultline explain: {file}: 3 lines that are no events are left out\n"
    assert diff_command(runs["one"], run) == 0
    assert capsys.readouterr().err == f"faultline diff: {file}: 3 lines that are no events are left out\n"
    assert explain_command(runs["one"], "c") == diff_command(runs["one"], runs["same"]) == 0
    assert capsys.readouterr().err == ""


def test_what_only_read_or_committed_wrote_nothing(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A read has no value: asked for the empty one, it was told as a write."""
    assert explain_command(runs["one"], "") == 2
    assert "is about ''; no such value was sent" in capsys.readouterr().err


def test_elections_and_fencing_of_kraft_are_part_of_the_chain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(tmp_path / "run")
    simulate_into(tmp_path / "run", resolve(find_scenario("kraft-az-isolated-leader"), "4.4"), 1)
    assert explain_command(tmp_path / "run", "c") == 0
    lines = [line for line in printed_lines(capsys) if "commits" in line or "cuts" in line]
    assert [line.partition(" ")[2].strip() for line in lines] == [
        "commits: broker-1 is elected for epoch 1; ISR 1,2",
        "commits: broker-0 is fenced",
        "cuts its log to 2: the record at offset 2 is gone (diverging)",
    ]


def test_a_committed_state_is_described_by_its_difference() -> None:
    def state(epoch: int, leader: int, isr: str, **more: object) -> dict[str, object]:
        return {
            "event": "partition_state_committed", "at_ms": float(epoch), "partition_epoch": epoch, "leader": leader,
            "leader_epoch": 4, "isr": isr, **more,
        }  # fmt: skip

    events = [
        state(0, 0, "0,1"), state(1, 0, "0", elr="1"), state(1, 0, "0", elr="1"), state(2, -1, "", elr="1"),
        state(3, 1, "1", recovering=True), state(4, 1, "1,0"), state(5, 1, "1,0", elr=""),
    ]  # fmt: skip
    assert [text for _, text in committed_states(events)] == [
        "commits: broker-0 leads in epoch 4; ISR 0,1",
        "commits: ISR shrinks, 0,1 to 0, eligible 1",
        "commits: no leader in epoch 4; ISR empty, eligible 1",
        "commits: broker-1 is elected outside the ISR for epoch 4; ISR 1",
        "commits: ISR grows, 1 to 1,0",
        "commits: ISR stays, 1,0 to 1,0",
    ]
