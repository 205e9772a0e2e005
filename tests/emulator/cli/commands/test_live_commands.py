"""Words of live commands before anything is asked of a cluster.
Standard input, slips, moves.
"""

import io
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from msgspec import inspect
from rich.console import Console

from emulator.cli.app import app
from emulator.cli.cluster_options import CLUSTER, ClusterOptions, ProduceOptions, TopicOptions
from emulator.cli.commands import live_clients, live_topics
from emulator.cli.commands.live_clients import create_topic_command, produce_command
from emulator.cli.commands.live_faults import machine_command
from emulator.cli.commands.live_topics import add_partitions_command, alter_broker_command, reassign_command
from emulator.cluster.control_requests import VALUES_MAX, AnyAsk, ControlRequest, Produce, Reassign
from protocol.ids import BrokerId
from tests.ids import brokers


@pytest.fixture
def sent_requests(monkeypatch: pytest.MonkeyPatch) -> list[ControlRequest]:
    """Requests that the command would send to a cluster."""
    found: list[ControlRequest] = []

    def ask(options: ClusterOptions, what: ControlRequest, *show: Any) -> int:
        found.append(what)
        return 0

    monkeypatch.setattr(live_clients, "ask_cluster", ask)
    monkeypatch.setattr(live_topics, "ask_cluster", ask)
    return found


def produce(values: Sequence[str]) -> int:
    return produce_command("t", list(values), producer=ProduceOptions(acks="all"))


def test_values_are_the_lines_of_standard_input(
    sent_requests: list[ControlRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a\n\nb c\r\nlast"))
    assert produce(["-"]) == 0
    (ask,) = sent_requests
    assert isinstance(ask, Produce) and ask.values == ["a", "", "b c", "last"]


def test_a_value_has_its_key_before_the_separator(
    sent_requests: list[ControlRequest], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def keyed(*values: str, separator: str = ":") -> int:
        return produce_command("t", list(values), producer=ProduceOptions(acks="all", key_separator=separator))

    monkeypatch.setattr("sys.stdin", io.StringIO("k:a:b\n:c\n"))
    assert keyed("-") == 0
    (ask,) = sent_requests
    assert isinstance(ask, Produce) and (ask.keys, ask.values) == (["k", ""], ["a:b", "c"])
    assert keyed("k:a", "b") == keyed("a", separator="") == 2 and len(sent_requests) == 1
    assert capsys.readouterr().err.splitlines() == [
        "faultline produce: 'b' has no ':'; write KEY:VALUE",
        "faultline produce: --key-separator '': a character or more, such as : for KEY:VALUE",
    ]


@pytest.mark.parametrize(
    ("values", "stdin", "message"),
    [
        (["-"], "", f"0 values: a command takes 1 to {VALUES_MAX}"),
        (["-"], "x\n" * (VALUES_MAX + 1), f"more values: a command takes 1 to {VALUES_MAX}"),
        (["a", "--ackss", "all"], "", "unknown option --ackss; pass a value that begins with -- by standard input (-)"),
    ],
)
def test_what_cannot_be_written_is_one_line_and_2(
    sent_requests: list[ControlRequest], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    values: list[str], stdin: str, message: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    assert produce(values) == 2 and sent_requests == []
    assert capsys.readouterr().err == f"faultline produce: {message}\n"


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ([], "no partitions; give moves such as t-0=2,3"),
        (["t-0"], "'t-0': a partition and its replicas, such as t-0=2,3"),
        (["t-0=1", "t-0=2"], "'t-0=2': is named twice"),
        (["t-0=1,x"], "'1,x': numbers of brokers, such as 0,1,2"),
    ],
)
def test_a_move_without_a_destination(
    sent_requests: list[ControlRequest], capsys: pytest.CaptureFixture[str], moves: list[str], message: str
) -> None:
    assert reassign_command(*moves) == 2 and sent_requests == []
    assert capsys.readouterr().err == f"faultline reassign: {message}\n"


def test_moves_are_requested_together(sent_requests: list[ControlRequest]) -> None:
    assert reassign_command("t-0=2,3", "t-1=0") == 0
    assert sent_requests == [Reassign({"t-0": list(brokers(2, 3)), "t-1": [BrokerId(0)]})]


def test_a_fault_on_no_machine_lists_the_valid_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert machine_command("kill", CLUSTER, ()) == 2
    assert capsys.readouterr().err == ("faultline kill: which nodes? kill broker-0, several, az-0, or 'broker-*'\n")


def test_a_topic_marked_for_deletion_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    view: dict[str, Any] = {"leader": -1, "epoch": None, "isr": []}
    partition = {"partition": 0, "replicas": [0, 1], "leader": -1, "leader_epoch": 4, "isr": [1], "views": {}}
    topics = {"t": [{**partition, "views": {"broker-0": view}}], "u": [partition]}
    reported = {"topics": topics, "marked_for_deletion": ["t"]}
    live_topics._show_list(Console(), reported)
    live_clients.show_topics(Console(), reported)
    assert capsys.readouterr().out.splitlines() == [
        "t: 1 partition, 0 led, replicas 2, marked for deletion",
        "u: 1 partition, 0 led, replicas 2",
        "t: marked for deletion; it exists until all its replicas are deleted",
        "t-0: leader -1, epoch 4, replicas 0,1, in sync 1",
        "  broker-0 has no metadata of it",
        "u-0: leader -1, epoch 4, replicas 0,1, in sync 1",
    ]


@pytest.mark.parametrize("brokers_", ["", "x", "0,", "²", "9" * 5_000])
def test_brokers_that_are_none_are_refused_in_one_line(
    brokers_: str, sent_requests: list[ControlRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    assert create_topic_command("t", new=TopicOptions(assignment=(brokers_,))) == 2
    assert add_partitions_command("t", 2, assignment=(brokers_,)) == 2
    assert reassign_command(f"t-0={brokers_}") == 2
    assert alter_broker_command(brokers_, set_=("log.retention.ms=1",)) == 2
    assert sent_requests == [] and len(capsys.readouterr().err.splitlines()) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("workload start t --retries 99999999999999999999", "--retries 99999999999999999999: from 0 to 2147483647"),
        ("workload start t --retries=-1", "--retries -1: from 0 to 2147483647"),
        ("workload start t --keys 1000001", "--keys 1000001: from 0 to 1000000"),
        ("workload start t --name=", "--name '': it is empty"),
        ("produce t a --partition 2147483648", "--partition 2147483648: from 0 to 2147483647"),
        ("produce t a --broker=-1", "--broker -1: from 0 to 2147483647"),
        ("consume t --records-max 0", "--records-max 0: from 1 to 10000"),
        ("consume t --offset=-1", "--offset -1: from 0 to 9223372036854775807"),
        ("topic create t --assignment 0,2147483648", "--assignment 2147483648: from 0 to 2147483647"),
        ("topic create t --partitions 2147483648", "--partitions 2147483648: from 0 to 2147483647"),
        ("topic add-partitions t 2147483648", "partitions 2147483648: from 0 to 2147483647"),
        ("reassign t-0=2147483648", "targets 2147483648: from 0 to 2147483647"),
        (f"topic create {'t' * 250} --partitions 1", "topic of 250 characters: at most 249"),
        ("power-loss broker-0 --batches-kept=-1", "--batches-kept -1: from 0 to 1000000"),
        ("power-loss broker-0 --batches-kept 99999999999999999", "--batches-kept 99999999999999999: from 0 to 1000000"),
        ("slow-disk broker-0 --operation-ms=-1", "--operation-ms -1: from 0 to 60000"),
        ("clock-jump broker-0 --jump-ms 1e30", "--jump-ms 1e+30: from -315360000000 to 315360000000"),
    ],
)
def test_a_number_out_of_bounds_is_refused_with_its_option_before_any_request(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code: Any = app(words.split(), result_action="return_value")
    err = capsys.readouterr().err
    assert (code, err.count("\n")) == (2, 1) and err.endswith(f": {message}\n")


def test_every_whole_number_of_a_request_has_bounds() -> None:
    """Numbers beyond 64 bits travel no further than the supervisor."""

    def unbounded(of_type: inspect.Type) -> bool:
        match of_type:
            case inspect.UnionType():
                return any(map(unbounded, of_type.types))
            case inspect.ListType():
                return unbounded(of_type.item_type)
            case inspect.DictType():
                return unbounded(of_type.value_type)
        return isinstance(of_type, inspect.IntType) and None in (of_type.ge, of_type.le)

    request_types = inspect.multi_type_info(get_args(AnyAsk))
    fields = [(ask.cls, field) for ask in request_types if isinstance(ask, inspect.StructType) for field in ask.fields]
    assert fields
    assert [(cls, one.name) for cls, one in fields if one.name != "settings" and unbounded(one.type)] == []


def test_a_cluster_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    code: Any = app(["up", "--name", ""], result_action="return_value")
    assert code == 2
    assert capsys.readouterr().err == "faultline up: --name '': not a name; use letters, digits, '-', '_' and '.'\n"
