"""Commands of a running cluster for topics, records, preferred leaders and workloads."""

import sys
from collections.abc import Sequence
from itertools import islice
from typing import Any

from rich.console import Console

from emulator.cli.cluster_options import (
    CLUSTER,
    CONSUME,
    NEW_TOPIC,
    PRODUCE,
    WAIT,
    WORKLOAD,
    ClusterOptions,
    ConsumeOptions,
    ProduceOptions,
    Topic,
    TopicOptions,
    Values,
    WaitOptions,
    WorkloadOptions,
)
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.control_calls import ask_cluster
from emulator.cli.commands.unusable import UNUSABLE_SCENARIO
from emulator.cli.play_options import Flag
from emulator.cluster.cluster_registry import NoCluster, choose
from emulator.cluster.control_requests import (
    VALUES_MAX,
    AddController,
    Consume,
    CreateTopic,
    DescribeTopic,
    ElectPreferred,
    Produce,
    RemoveController,
    StartWorkload,
    StopWorkload,
    WorkloadStatus,
)
from emulator.exit_codes import BROKEN, HELD
from emulator.runs.finished import NoRun, version_of
from emulator.runs.settings_files import read_settings_files
from emulator.settings.applied import applied
from emulator.settings.setting import PRODUCER, TOPIC
from emulator.settings.setting_registry import REGISTRY
from protocol.errors import error_name
from protocol.ids import BrokerId

STDIN = "-"
MARKED = "marked for deletion"
ACKS = {"0": 0, "1": 1, "-1": -1, "all": -1}


UNUSABLE_SETTINGS = (*UNUSABLE_SCENARIO, NoRun, NoCluster)


@reports_errors("topic create", *UNUSABLE_SETTINGS)
def create_topic_command(name: Topic, /, *, new: TopicOptions = NEW_TOPIC, options: WaitOptions = WAIT) -> int:
    brokers = list(map(brokers_of, new.assignment))
    given = settings_of(options, TOPIC, new.files) | settings_given(new.overrides)
    return ask_cluster(options, CreateTopic(name, brokers, new.partitions, new.replicas, given), show_topics)


def brokers_of(text: str) -> list[BrokerId]:
    """Broker ids of a text such as `0,1,2`. Raises CommandFailed."""
    try:
        return [BrokerId(int(broker)) for broker in text.split(",")]
    except ValueError:
        raise CommandFailed(f"{text!r}: numbers of brokers, such as 0,1,2") from None


@reports_errors("topic describe")
def describe_topic_command(name: str = "", /, *, options: ClusterOptions = CLUSTER) -> int:
    """Describe one topic, or all.

    Parameters
    ----------
    name
        The topic's name; by default all topics.
    """
    return ask_cluster(options, DescribeTopic(name), show_topics)


@reports_errors("produce")
def produce_command(
    topic: Topic, values: Values, /, *, producer: ProduceOptions = PRODUCE, options: WaitOptions = WAIT
) -> int:
    """Produce values; returns 1 when a value was not acknowledged.

    Parameters
    ----------
    values
        Values, one record each, in order; - for the lines of standard input.
    """
    slip = next((value for value in values if value.startswith("--")), None)
    if slip is not None:
        raise CommandFailed(f"unknown option {slip}; pass a value that begins with -- by standard input (-)")
    if values == [STDIN]:
        values = [line.rstrip("\r\n") for line in islice(sys.stdin, VALUES_MAX + 1)]
    if not 0 < len(values) <= VALUES_MAX:
        given = f"{len(values)} values" if len(values) <= VALUES_MAX else "more values"
        raise CommandFailed(f"{given}: a command takes 1 to {VALUES_MAX}")
    fields = dict(vars(producer))
    records = {"values": values}
    if (separator := fields.pop("key_separator")) is not None:
        if not separator:
            raise CommandFailed("--key-separator '': a character or more, such as : for KEY:VALUE")
        without = next((value for value in values if separator not in value), None)
        if without is not None:
            raise CommandFailed(f"{without!r} has no {separator!r}; write KEY{separator}VALUE")
        parted = [value.partition(separator) for value in values]
        records = {"keys": [key for key, _, _ in parted], "values": [value for _, _, value in parted]}
    ask = Produce(topic=topic, **{**fields, **records, "acks": _acks(producer.acks)})
    return ask_cluster(options, ask, _show_attempts, _all_acknowledged)


@reports_errors("consume")
def consume_command(topic: Topic, /, *, records: ConsumeOptions = CONSUME, options: WaitOptions = WAIT) -> int:
    """Consume records; returns 1 when the broker returned an error."""
    ask = Consume(topic, **vars(records))
    return ask_cluster(options, ask, _show_records, lambda result: HELD if result["error"] == 0 else BROKEN)


@reports_errors("elect-preferred")
def elect_preferred_command(*partitions: str, options: WaitOptions = WAIT) -> int:
    """Elect preferred leaders.

    Parameters
    ----------
    partitions
        Partitions such as t-0; by default all.
    """
    return ask_cluster(options, ElectPreferred(list(partitions)), _show_leaders)


@reports_errors("add-controller")
def add_controller_command(controller: str, /, *, options: WaitOptions = WAIT) -> int:
    """Add a voter.

    Parameters
    ----------
    controller
        A controller such as controller-3; of combined nodes broker-3.
    """
    return ask_cluster(options, AddController(controller), _show_voter)


@reports_errors("remove-controller")
def remove_controller_command(controller: str, /, *, options: WaitOptions = WAIT) -> int:
    """Remove a voter.

    Parameters
    ----------
    controller
        A voter such as controller-0; of combined nodes broker-0.
    """
    return ask_cluster(options, RemoveController(controller), _show_voter)


@reports_errors("workload start", *UNUSABLE_SETTINGS)
def start_workload_command(
    topic: Topic, /, *, workload: WorkloadOptions = WORKLOAD, options: ClusterOptions = CLUSTER
) -> int:
    fields = dict(vars(workload))
    files, overrides = fields.pop("files"), fields.pop("overrides")
    settings = settings_of(options, PRODUCER, files) | settings_given(overrides)
    acks = None if workload.acks is None else _acks(workload.acks)
    ask = StartWorkload(topic=topic, **{**fields, "acks": acks, "azs": list(workload.azs), "settings": settings})
    return ask_cluster(options, ask, _show_started)


@reports_errors("workload stop")
def stop_workload_command(name: str = "", /, *, at_once: Flag = False, options: WaitOptions = WAIT) -> int:
    """Stop one workload, or all.

    Parameters
    ----------
    name
        The workload's name; by default all workloads.
    at_once
        Do not wait for operations in flight; their outcome is unknown.
    """
    return ask_cluster(options, StopWorkload(name, at_once), _show_workloads)


@reports_errors("workload status")
def workload_status_command(*, options: ClusterOptions = CLUSTER) -> int:
    return ask_cluster(options, WorkloadStatus(), _show_workloads)


def settings_of(options: ClusterOptions, scope: str, words: Sequence[str]) -> dict[str, Any]:
    """Settings of one scope in settings files, as the running cluster's version has them.

    Other settings in the files are reported on standard error. Raises CommandFailed and UNUSABLE_SETTINGS.
    """
    if not words:
        return {}
    version = version_of(choose(options.cluster).directory)
    layer = applied(read_settings_files(words, scope), version, {})
    if not layer.cluster:
        raise CommandFailed(f"--settings {' '.join(words)}: no {scope} setting in it")
    for dropped in layer.dropped:
        print(f"dropped: {dropped.name} ({dropped.where}): {dropped.why}", file=sys.stderr)
    return {REGISTRY[key].name: given.value for key, given in layer.cluster.items()}


def settings_given(words: Sequence[str]) -> dict[str, Any]:
    """Settings of `--set name=value`. Raises CommandFailed."""
    given = {}
    for text in words:
        name, equals, value = text.partition("=")
        if not equals:
            raise CommandFailed(f"--set {text!r}: expected name=value")
        given[name.strip()] = value.strip()
    return given


def _acks(text: str) -> Any:
    """Number of `--acks`. Raises CommandFailed."""
    if text not in ACKS:
        raise CommandFailed(f"--acks {text}: one of {', '.join(ACKS)}")
    return ACKS[text]


def _all_acknowledged(result: dict[str, Any]) -> int:
    last = {entry["value"]: entry["error"] for entry in result["attempts"] if entry["saw"] == "attempt"}
    ended = [one["error"] for one in result.get("transactions", [])]
    return HELD if all(error == 0 for error in (*last.values(), *ended)) else BROKEN


# --- as text --------------------------------------------------------------------------------------------------------


def show_topics(out: Console, result: dict[str, Any]) -> None:
    for topic, partitions in result.get("topics", {}).items():
        if topic in result["marked_for_deletion"]:
            out.print(f"{topic}: {MARKED}; it exists until all its replicas are deleted", markup=False)
        for it in partitions:
            replicas, isr = ",".join(map(str, it["replicas"])), ",".join(map(str, it["isr"]))
            where = f"{topic}-{it['partition']}"
            out.print(f"{where}: leader {it['leader']}, epoch {it['leader_epoch']}, replicas {replicas}, in sync {isr}")
            for broker, view in it["views"].items():
                if view["epoch"] is None:
                    out.print(f"  {broker} has no metadata of it")
                elif (view["leader"], view["epoch"]) != (it["leader"], it["leader_epoch"]):
                    out.print(f"  {broker} still believes: leader {view['leader']}, epoch {view['epoch']}")
    show_notes(out, result)


def show_notes(out: Console, result: dict[str, Any]) -> None:
    """Print notes on the settings of the command."""
    for line in result.get("said", ()):
        out.print(f"  {line}", markup=False)


def _show_attempts(out: Console, result: dict[str, Any]) -> None:
    """Print attempts; with a number only where a value had more than one."""
    attempts = [entry for entry in result.get("attempts", result.get("so_far", [])) if entry.get("saw") == "attempt"]
    repeated = {entry["value"] for entry in attempts if entry["attempt"] > 1}
    for entry in attempts:
        what = f" at offset {entry['offset']}" if entry["error"] == 0 else f": {error_text(entry['error'])}"
        by = "" if entry["broker"] is None or entry["broker"] < 0 else f" by broker-{entry['broker']}"
        outcome = "acknowledged" if entry["error"] == 0 else "not acknowledged"
        which = f"attempt {entry['attempt']} " if entry["value"] in repeated else ""
        out.print(f"{entry['value']}: {which}{outcome}{by}{what}", markup=False)
    for one in result.get("transactions", ()):
        ended = "committed" if one["end"] == "commit" else "aborted"
        text = ended if one["error"] == 0 else f"not {ended}: {error_text(one['error'])}"
        out.print(f"transaction of {one['transactional_id']}: {text}", markup=False)


def _show_records(out: Console, result: dict[str, Any]) -> None:
    if "broker" not in result:
        return
    for offset, epoch, value in result["records"] or []:
        print(f"{offset}\t{'-' if epoch is None else epoch}\t{value}")  # rich would make blanks of the tabs
    if result["error"] != 0:
        out.print(f"broker-{result['broker']} answered: {error_text(result['error'])}")
    else:
        count, mark = len(result["records"]), result["high_watermark"]
        records = f"{count} record{'' if count == 1 else 's'}"
        stable = f", last stable offset {result['last_stable_offset']}" if "last_stable_offset" in result else ""
        out.print(f"{records} of {result['partition']} at broker-{result['broker']}, high watermark {mark}{stable}")


def _show_voter(out: Console, result: dict[str, Any]) -> None:
    out.print(f"{result['controller']}: {'votes' if result['votes'] else 'does not vote any more'}", markup=False)


def _show_leaders(out: Console, result: dict[str, Any]) -> None:
    for name, leader in result.get("leaders", {}).items():
        out.print(f"{name}: leader {leader}")


def _show_started(out: Console, result: dict[str, Any]) -> None:
    clients = ", ".join(result["clients"])
    out.print(f"{result['workload']}: {result['rate_per_s']:g} records/s to {result['topic']} from each of {clients}")


def _show_workloads(out: Console, result: dict[str, Any]) -> None:
    for client, status in result.get("clients", {}).items():
        for it in status["workloads"]:
            state = "runs" if it["running"] else "ended"
            names = (*_counted(it["kind"]), *(name for name in ("committed", "aborted") if it.get(name)))
            counts = ", ".join(f"{name} {it[name]}" for name in names)
            out.print(f"{status['az']} {client} {it['name']} ({state}): {counts}", markup=False)
    for client, why in result.get("silent", {}).items():
        out.print(f"{client}: unknown: {why}")
    if not result.get("clients"):
        out.print("no workload runs")


def _counted(kind: str) -> tuple[str, ...]:
    return ("read",) if kind == "consume" else ("sent", "ok", "failed", "unknown", "skipped")


def error_text(error: int | str) -> str:
    """Kafka's name of an error code, or the exception of a client."""
    return error_name(error) if isinstance(error, int) else error
