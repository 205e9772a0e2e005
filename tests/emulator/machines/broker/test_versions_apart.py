"""Requests of a broker with a newer inter.broker.protocol.version than this binary's.
Semantics 4.6.
"""

import pytest

from protocol.events import RequestNotUnderstood
from protocol.gates import gates_for
from protocol.ids import BrokerId, ControllerEpoch
from protocol.machine import Close
from protocol.messages.leadership_messages import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import FetchRequest, OffsetForLeaderEpochRequest
from verification.broker_bench import Bench

FETCH = FetchRequest(BrokerId(1), 0, 1, 1000, [])


@pytest.mark.parametrize(
    ("binary", "request_", "purpose", "newest"),
    [
        ("2.6", FETCH, "fetcher", 11),
        ("0.11", FETCH, "fetcher", 5),
        ("2.0.1", OffsetForLeaderEpochRequest([]), "fetcher", 1),
        ("0.10.2", OffsetForLeaderEpochRequest([]), "fetcher", -1),
        ("2.3", LeaderAndIsrRequest(BrokerId(1), ControllerEpoch(1), [], []), "controller", 2),
        ("2.1", UpdateMetadataRequest(BrokerId(1), ControllerEpoch(1), [], []), "controller", 4),
        ("2.5", StopReplicaRequest(BrokerId(1), ControllerEpoch(1), []), "controller", 2),
    ],
)
def test_a_request_too_new_costs_the_connection(binary: str, request_: Message, purpose: str, newest: int) -> None:
    bench = Bench(binary)
    for version in {max(0, newest), newest + 1}:
        connection = bench.connect("broker-1", purpose)
        bench.send(connection, request_, version)
        assert (Close(connection) in bench.effects) == (version > newest)
    (reported,) = bench.events(RequestNotUnderstood)
    assert (reported.peer, reported.api, reported.request_version) == ("broker-1", request_.API_NAME, newest + 1)


def test_clients_query_a_brokers_state() -> None:
    bench = Bench("0.11")
    connection = bench.ask(FETCH, 12)
    assert Close(connection) not in bench.effects


def test_a_newer_binary_understands_every_older_protocol() -> None:
    for binary, ibp in (("2.8", "0.10.2"), ("2.8", "2.6"), ("1.1", "0.11"), ("2.0.1", "2.0.0")):
        new, spoken = gates_for(binary), gates_for(binary, ibp)
        assert new.understands(1, spoken.fetch_version) and new.understands(4, spoken.leader_and_isr_version)
        assert gates_for(ibp).understands(1, spoken.fetch_version), "what an old broker is sent, it understands"
        assert gates_for(ibp).understands(6, spoken.update_metadata_version)
    assert gates_for("2.7").understands(56, 0) and not gates_for("2.6").understands(56, 0)
