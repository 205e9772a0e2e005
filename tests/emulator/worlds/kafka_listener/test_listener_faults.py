"""Protocol faults: the requests that a rule hits, and responses with an error."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from emulator.faults.enforcement import LinkState
from emulator.worlds.network.kafka_listener.advertised_listeners import Place
from emulator.worlds.network.kafka_listener.codec import KafkaRequest, api_name, listener_of, read_request
from emulator.worlds.network.kafka_listener.error_responses import refused
from emulator.worlds.network.kafka_listener.listener_faults import ListenerFaults
from emulator.worlds.network.kafka_listener.translation import TRANSLATIONS, message_of
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.errors import ErrorCode
from protocol.events import FaultHealed, FaultInForce
from protocol.framing import ProtocolError
from protocol.gates import gates_for
from protocol.link_rules import LinkRule
from protocol.protocol_faults import ANSWERABLE, KAFKA_APIS, PROTOCOL_FAULT, ProtocolFault
from tests.emulator.worlds.kafka_listener.library_messages import response_of
from verification.attack.kafka_frames import PLACE, KafkaFrames

ERROR = ErrorCode.NOT_LEADER_OR_FOLLOWER
EACH = 10
"""Requests of each version of an API."""


def request(api: int, client_id: str, place: Place = PLACE) -> KafkaRequest:
    return KafkaRequest(listener_of(gates_for("2.8"), place), api, 0, 1, client_id, None)


def rule(name: str, **fields: Any) -> LinkRule:
    return LinkRule(name, name, PROTOCOL_FAULT, expects_traffic=False, protocol=ProtocolFault("close", **fields))


def test_apis_are_those_of_the_listener() -> None:
    assert sorted(KAFKA_APIS) == sorted(api_name(api) for api in TRANSLATIONS)


def test_a_rule_hits_the_requests_that_it_is_about() -> None:
    links = LinkState("broker-0", 1)
    faults = ListenerFaults(links, "broker-0")
    links.apply(0.0, rule("later", apis=("Fetch",), client_ids=("a", "b"), skip=1, times=2))
    links.apply(0.0, rule("elsewhere", apis=("Fetch",), nodes=("broker-1",), times=0))
    links.apply(0.0, rule("always", apis=("Produce", "Metadata"), times=0))
    hits = [faults.hit(request(api, client)) for api, client in ((1, "a"), (1, "c"), (1, "b"), (1, "a"), (1, "a"))]
    assert [hit[0] if hit else "" for hit in hits] == ["", "", "later", "later", ""]
    assert [hit[0] for api in (0, 3, 0) if (hit := faults.hit(request(api, "x")))] == ["always"] * 3
    assert links.frames_stopped == {"later": 2, "elsewhere": 0, "always": 3}
    links.heal(1.0, "always")
    assert faults.hit(request(0, "x")) is None
    events = links.take_events()
    assert sum(isinstance(event, FaultInForce) for event in events) == 3
    assert [(one.rule, one.frames_stopped) for one in events if isinstance(one, FaultHealed)] == [("always", 3)]


def test_a_rule_of_listeners_stops_no_frame() -> None:
    links = LinkState("broker-0", 1)
    out, back = links.connect(0.0, "client-0", "client", opened_here=False)
    links.apply(0.0, rule("close", apis=("Fetch",), times=0))
    assert out.offer(1.0, b"frame", "Fetch") is None and back.offer(1.0, b"frame", "Fetch") is None


def answered(kafka_version: str) -> Iterator[tuple[KafkaRequest, AnsweredHere]]:
    """Requests of generated frames, and their responses with an error."""
    frames = KafkaFrames(1, kafka_version)
    listener = listener_of(gates_for(kafka_version), PLACE)
    versions = [
        (api, version)
        for api, range_ in listener.apis.items()
        if api_name(api) in ANSWERABLE
        for version in range(range_.least, range_.most + 1)
    ]
    for api, version in versions * EACH:
        try:
            requested = read_request(frames.written(api, version), listener)
            message = message_of(requested)
        except ProtocolError:
            continue
        if not isinstance(message, AnsweredHere):
            yield requested, refused(requested, message, ERROR)


def codes_in(value: Any) -> Iterator[int]:
    """Error codes anywhere in a response of kafka-python, as its dict."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name in ("error_code", "partition_error_code"):
                yield one
            yield from codes_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from codes_in(one)


@pytest.mark.parametrize("kafka_version", ["0.10.2", "2.8", "4.4"])
def test_a_response_with_an_error_is_valid_in_every_api(kafka_version: str) -> None:
    seen: Counter[str] = Counter()
    for requested, answer in answered(kafka_version):
        if requested.name == "Produce" and requested.body.acks == 0:
            assert not answer.frame
            continue
        response = response_of(answer.frame, requested.api, requested.version)
        fields = response.to_dict()
        assert fields.pop("error_code", ERROR) in (ERROR, 0), requested
        codes = set(codes_in(fields))
        assert codes <= {ERROR}, (requested, codes)
        seen[requested.name] += ERROR in {*codes_in(response.to_dict())}
    spoken = {api_name(api) for api in listener_of(gates_for(kafka_version), PLACE).apis}
    found = {name for name, count in seen.items() if count}
    # Generated batches are seldom valid; real clients meet Produce (tests/kafka_clients/test_protocol_faults.py).
    assert found | {"Produce"} == spoken & set(ANSWERABLE)
