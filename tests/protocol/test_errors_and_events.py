"""The tables of error codes and of events."""

import inspect
import types
import typing

import msgspec
import pytest

from protocol import events
from protocol.errors import TRAITS, ErrorCode, error_name
from protocol.events import EVENTS, LEVELS, Event


def test_codes_are_kafkas() -> None:
    """Semantics 7."""
    listed = {
        -1: "UNKNOWN_SERVER_ERROR", 0: "NONE", 1: "OFFSET_OUT_OF_RANGE", 2: "CORRUPT_MESSAGE",
        3: "UNKNOWN_TOPIC_OR_PARTITION", 5: "LEADER_NOT_AVAILABLE", 6: "NOT_LEADER_OR_FOLLOWER",
        7: "REQUEST_TIMED_OUT", 8: "BROKER_NOT_AVAILABLE", 9: "REPLICA_NOT_AVAILABLE", 10: "MESSAGE_TOO_LARGE",
        11: "STALE_CONTROLLER_EPOCH", 13: "NETWORK_EXCEPTION", 18: "RECORD_LIST_TOO_LARGE", 19: "NOT_ENOUGH_REPLICAS",
        20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND", 21: "INVALID_REQUIRED_ACKS", 41: "NOT_CONTROLLER",
        45: "OUT_OF_ORDER_SEQUENCE_NUMBER", 46: "DUPLICATE_SEQUENCE_NUMBER", 47: "INVALID_PRODUCER_EPOCH",
        56: "KAFKA_STORAGE_ERROR", 59: "UNKNOWN_PRODUCER_ID", 70: "FETCH_SESSION_ID_NOT_FOUND",
        71: "INVALID_FETCH_SESSION_EPOCH", 74: "FENCED_LEADER_EPOCH", 75: "UNKNOWN_LEADER_EPOCH",
        77: "STALE_BROKER_EPOCH", 78: "OFFSET_NOT_AVAILABLE", 80: "PREFERRED_LEADER_NOT_AVAILABLE",
        84: "ELECTION_NOT_NEEDED", 87: "INVALID_RECORD", 95: "INVALID_UPDATE_VERSION",
    }  # fmt: skip
    assert {code: ErrorCode(code).name for code in listed} == listed
    assert {code: error_name(code) for code in listed} == listed


def test_what_a_producer_retries() -> None:
    """Semantics 6: 2, 3, 5, 6, 7, 13, 19, 20, 56 are retriable.

    3, 5, 6, 13, 56 refresh metadata first.
    """
    producers = {2, 3, 5, 6, 7, 13, 19, 20, 56}
    assert {code for code in producers if TRAITS[ErrorCode(code)].retriable} == producers
    assert {code for code in producers if TRAITS[ErrorCode(code)].refresh} == {3, 5, 6, 13, 56}
    for code in (1, 10, 21, 45, 46, 47, 59):
        assert not TRAITS[ErrorCode(code)].retriable


def test_only_definite_codes_mean_that_nothing_was_written() -> None:
    """Semantics 11.2: after 7 and 20 the data is there; after 19 it is not."""
    assert not any(TRAITS[ErrorCode(code)].definite for code in (-1, 6, 7, 13, 20, 56))
    assert all(TRAITS[ErrorCode(code)].definite for code in (0, 2, 3, 10, 19, 21, 45))


def test_names_of_their_time() -> None:
    assert error_name(6, renamed=False) == "NOT_LEADER_FOR_PARTITION"
    assert error_name(7, renamed=False) == "REQUEST_TIMED_OUT"
    assert error_name(1234) == "UNKNOWN_CODE_1234"
    assert error_name(-2) == "UNKNOWN_CODE_-2"


# --- events ---


def test_a_field_has_one_type_in_all_events() -> None:
    """All events share one flat table."""
    found: dict[str, set[object]] = {}
    for event in EVENTS.values():
        for name, kind in typing.get_type_hints(event).items():
            if name in event.__struct_fields__:
                found.setdefault(name, set()).add(kind)
    assert {name: kinds for name, kinds in found.items() if len(kinds) > 1} == {}
    assert set().union(*found.values()) <= {int, str, float, bool}
    assert not isinstance(next(iter(found["topic"])), types.UnionType)


KEPT = {"fault_asked": "fault_requested", "isr_change_asked": "isr_change_requested"}
"""{name in files: name by its class}; runs and queries of users have the former."""


def test_every_event_is_registered_under_its_own_name_and_level() -> None:
    declared = {
        cls for _, cls in inspect.getmembers(events, inspect.isclass)
        if issubclass(cls, Event) and cls.NAME
    }  # fmt: skip
    assert declared == set(EVENTS.values())
    for name, event in EVENTS.items():
        assert name == event.NAME
        assert event.LEVEL in LEVELS
        assert KEPT.get(name, name).replace("_", "") == event.__name__.lower()


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda e: e.NAME)
def test_every_event_has_its_name(event: type[Event]) -> None:
    assert event.__doc__ and event.__doc__.strip(), f"{event.__name__} has no docstring"
    assert event.__doc__ != Event.__doc__


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda e: e.NAME)
def test_every_event_is_one_flat_line(event: type[Event]) -> None:
    values = {int: 1, str: "x", float: 0.5, bool: True}
    made = event(
        **{name: values[kind] for name, kind in typing.get_type_hints(event).items() if name in event.__struct_fields__}
    )
    line = msgspec.json.decode(msgspec.json.encode(made))
    assert list(line) == list(event.__struct_fields__)
    assert not any(isinstance(value, dict | list) for value in line.values())
