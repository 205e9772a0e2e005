"""Topics created by a metadata request (semantics 4.4)."""

import pytest

from protocol.errors import ErrorCode as E
from protocol.messages.leadership_messages import MetadataRequest, MetadataResponse
from verification.broker_bench import Bench, state


def metadata_request(bench: Bench, *topics: str, allow: bool = True) -> int:
    return bench.ask(MetadataRequest(list(topics), allow))


def metadata_errors(bench: Bench, connection: int) -> dict[str, int]:
    """{topic: error of its one entry}"""
    return {one.topic: one.error for one in bench.answer(connection, MetadataResponse).partitions}


def made(bench: Bench, error: E) -> tuple[str, int, int, dict[str, str]]:
    """Creations that the broker sends to the session service, which end with `error`."""
    topic, partitions, factor, configs, over = bench.created.pop(0)
    bench._do(lambda: over(error))
    return topic, partitions, factor, configs


@pytest.mark.parametrize(
    ("came_of_it", "error"),
    [
        (E.NONE, E.LEADER_NOT_AVAILABLE),
        (E.TOPIC_ALREADY_EXISTS, E.LEADER_NOT_AVAILABLE),
        (E.INVALID_REPLICATION_FACTOR, E.INVALID_REPLICATION_FACTOR),
        (E.UNKNOWN_SERVER_ERROR, E.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_requested_topic_is_made_and_has_no_leader_yet(came_of_it: E, error: E) -> None:
    bench = Bench("2.6", num_partitions=3, default_replication_factor=2)
    connection = metadata_request(bench, "new")
    assert not bench.answers(connection)
    assert made(bench, came_of_it) == ("new", 3, 2, {})
    assert metadata_errors(bench, connection) == {"new": error}


def test_several_are_made_one_after_the_other_and_what_is_no_name_is_not() -> None:
    bench = Bench("2.6")
    bench.update_metadata(state(0, topic_partition=("there", 0)))
    connection = metadata_request(bench, "one", "no/name", "there", "two", "one")
    assert [made(bench, E.NONE)[0], made(bench, E.NONE)[0]] == ["one", "two"]
    assert metadata_errors(bench, connection) == {
        "there": E.NONE,
        "one": E.LEADER_NOT_AVAILABLE,
        "no/name": E.INVALID_TOPIC_EXCEPTION,
        "two": E.LEADER_NOT_AVAILABLE,
    }
    assert bench.created == []


@pytest.mark.parametrize(("enabled", "allow", "topics"), [(False, True, ["x"]), (True, False, ["x"]), (True, True, [])])
def test_nothing_is_made_unasked(enabled: bool, allow: bool, topics: list[str]) -> None:
    bench = Bench("2.6", auto_create_topics_enable=enabled)
    connection = metadata_request(bench, *topics, allow=allow)
    assert bench.created == []
    assert metadata_errors(bench, connection) == dict.fromkeys(topics, E.UNKNOWN_TOPIC_OR_PARTITION)


def test_what_came_meanwhile_is_answered_as_it_is() -> None:
    """The controller was faster than the answer."""
    bench = Bench("2.6")
    connection = metadata_request(bench, "new")
    bench.update_metadata(state(0, topic_partition=("new", 0)))
    made(bench, E.NONE)
    assert metadata_errors(bench, connection) == {"new": E.NONE}
