"""Answers about ACLs and quotas: Kafka's own words, of brokers that have neither."""

from typing import Any

import pytest

from emulator.worlds.network.kafka_listener import codec
from emulator.worlds.network.kafka_listener.advertised_listeners import Place
from emulator.worlds.network.kafka_listener.translation import message_of
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.gates import gates_for
from tests.emulator.worlds.kafka_listener.library_messages import REQUESTS, encoded, response_of

PLACE = Place("az-0", "client-0", {}, {}, "run")
VERSIONS = ("0.10.2", "0.11", "2.4", "2.6", "2.8")
LISTENERS = {version: codec.listener_of(gates_for(version), PLACE) for version in VERSIONS}
DISABLED = 54
ANY = 1


def answer(api: int, version: int, kafka: str = "2.8", **fields: Any) -> Any:
    request = REQUESTS[api](**fields)
    answered = message_of(codec.read_request(encoded(request, version), LISTENERS[kafka]))
    assert isinstance(answered, AnsweredHere)
    return response_of(answered.frame, api, version)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_without_an_authorizer_acls_are_disabled(version: int) -> None:
    about: dict[str, Any] = {"permission_type": ANY, "operation": ANY, "principal": "User:a", "host": "*"}
    of_filter: dict[str, Any] = {
        f"{name}_filter" if name in ("principal", "host") else name: value for name, value in about.items()
    }
    pattern: dict[str, Any] = {"resource_type_filter": 2, "resource_name_filter": "t", "pattern_type_filter": 3}
    reported = answer(29, version, **pattern, **of_filter)
    assert (reported.error_code, reported.error_message) == (DISABLED, "No Authorizer is configured on the broker")
    assert reported.resources == []

    one = REQUESTS[30].AclCreation(resource_type=2, resource_name="t", resource_pattern_type=3, **about)
    created = answer(30, version, creations=[one, one]).results
    assert [(it.error_code, it.error_message) for it in created] == [
        (DISABLED, "No Authorizer is configured on the broker.")
    ] * 2

    which = REQUESTS[31].DeleteAclsFilter(**pattern, **of_filter)
    deleted = answer(31, version, filters=[which]).filter_results
    assert [(it.error_code, it.error_message, it.matching_acls) for it in deleted] == [
        (DISABLED, "No Authorizer is configured on the broker.", [])
    ]


def components(*types: str) -> list[Any]:
    return [REQUESTS[48].ComponentData(entity_type=name, match_type=2, match=None) for name in types]


@pytest.mark.parametrize(
    ("kafka", "types", "error", "message"),
    [
        ("2.6", (), 0, None),
        ("2.6", ("user", "client-id"), 0, None),
        ("2.8", ("ip",), 0, None),
        ("2.6", ("ip",), 35, "Custom entity type 'ip' not supported"),
        ("2.6", ("user", "user", "nothing"), 42, "Duplicate user filter component entity type"),
        ("2.6", ("client-id", "client-id"), 42, "Duplicate client filter component entity type"),
        ("2.8", ("",), 42, "Unexpected empty filter component entity type"),
        ("2.8", ("user", "nothing"), 35, "Custom entity type 'nothing' not supported"),
        ("2.8", ("ip", "user"), 42, "Invalid entity filter component combination, IP filter component should not be "
         "used with user or clientId filter component."),
    ],
)  # fmt: skip
def test_no_client_has_a_quota(kafka: str, types: tuple[str, ...], error: int, message: str | None) -> None:
    reported = answer(48, 0, kafka, components=components(*types), strict=False)
    assert (reported.error_code, reported.error_message) == (error, message)
    assert reported.entries == (None if error else [])


def test_the_first_kafka_with_their_requests() -> None:
    assert 29 not in LISTENERS["0.10.2"].apis
    assert {api: LISTENERS["0.11"].apis[api] for api in (29, 30, 31)} == dict.fromkeys((29, 30, 31), (0, 0))
    assert 48 not in LISTENERS["2.4"].apis


def quota(entity: dict[str, str | None], **ops: float | None) -> Any:
    entry = REQUESTS[49].EntryData
    return entry(
        entity=[entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[entry.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops.items()],
    )


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        (quota({"user": "u"}, producer_byte_rate=None), 0, None),
        (quota({"user": "u"}, producer_byte_rate=1.0), 44, "quotas of clients are not emulated"),
        (quota({"client-id": None}, burst=1.0), 42, "Invalid configuration key burst"),
        (quota({"group": "g"}, producer_byte_rate=1.0), 42, "Invalid client quota entity"),
        (quota({"ip": "::1", "user": "u"}, connection_creation_rate=1.0), 42, "Invalid quota entity combination, IP "
         "entity should not be used with user/client ID entity."),
    ],
)  # fmt: skip
def test_no_quota_is_altered(entry: Any, error: int, message: str | None) -> None:
    """ZkAdminManager.alterClientQuotas; what would take effect in Kafka is refused."""
    (reported,) = answer(49, 1, entries=[entry], validate_only=False).entries
    assert (reported.error_code, reported.error_message) == (error, message)
    assert [one.entity_type for one in reported.entity] == [one.entity_type for one in entry.entity]


def test_no_user_has_a_credential() -> None:
    """ZkAdminManager.describeUserScramCredentials."""
    assert answer(50, 0, users=None).results == []
    named = [REQUESTS[50].UserName(name=name) for name in ("u", "v", "v", "")]
    reported = answer(50, 0, users=named).results
    assert [(one.user, one.error_code) for one in reported] == [("u", 91), ("v", 92), ("", 91)]
    assert all(one.credential_infos == [] for one in reported)


@pytest.mark.parametrize(
    ("deleted", "upserted", "reported"),
    [
        ([("u", 1)], [], [("u", 91)]),
        ([], [("u", 1, 4096)], [("u", 44)]),
        ([], [("u", 1, 4095), ("v", 2, 16385)], [("u", 93), ("v", 93)]),
        ([("u", 3)], [("", 1, 4096)], [("", 93), ("u", 33)]),
        ([("u", 1)], [("u", 1, 4096)], [("u", 92)]),
    ],
)
def test_no_credential_is_altered(
    deleted: list[tuple[str, int]], upserted: list[tuple[str, int, int]], reported: list[tuple[str, int]]
) -> None:
    """ZkAdminManager.alterUserScramCredentials; what would take effect in Kafka is refused."""
    request = REQUESTS[51]
    deletions = [request.ScramCredentialDeletion(name=name, mechanism=kind) for name, kind in deleted]
    upsertions = [
        request.ScramCredentialUpsertion(name=name, mechanism=kind, iterations=times, salt=b"s", salted_password=b"p")
        for name, kind, times in upserted
    ]
    results = answer(51, 0, deletions=deletions, upsertions=upsertions).results
    assert [(one.user, one.error_code) for one in results] == reported
