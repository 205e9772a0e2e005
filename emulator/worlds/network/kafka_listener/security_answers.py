"""Responses about ACLs, quotas and SCRAM credentials of brokers that have none.

No authorizer is configured (`authorizer.class.name` is empty, as by default), no client has a quota, no user a
credential. The listener answers without the machine, as Kafka does in these cases (KafkaApis' handlers, AdminManager's
describeClientQuotas and describeUserScramCredentials). The responses are the same at every broker and time. A request
to set a quota or credential fails with POLICY_VIOLATION, as other changes that the emulator does not support.
"""

from collections import Counter, defaultdict
from typing import Any, Final

from emulator.worlds.network.kafka_listener.apis import DESCRIBE_CLIENT_QUOTAS
from emulator.worlds.network.kafka_listener.codec import KafkaRequest
from emulator.worlds.network.kafka_listener.message_encoder import Fields
from protocol.errors import ErrorCode

NO_AUTHORIZER: Final = "No Authorizer is configured on the broker"
FIRST_WITH_IPS: Final = 1
"""First version of DESCRIBE_CLIENT_QUOTAS of brokers with quotas of IP addresses."""
QUOTAS: Final = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
QUOTAS_OF_IPS: Final = ("connection_creation_rate",)
SCRAM_MECHANISMS: Final = {1: 4096, 2: 4096}
"""{SCRAM-SHA-256, SCRAM-SHA-512: minimum iterations}"""
SCRAM_ITERATIONS_MAX: Final = 16384
_DUPLICATES: Final = {"user": "user", "client-id": "client", "ip": "ip"}
"""{type of an entity: its name in Kafka's message about duplicates}"""


def acls_described(request: KafkaRequest) -> Fields:
    return {"error_code": ErrorCode.SECURITY_DISABLED, "error_message": NO_AUTHORIZER, "resources": []}


def acls_created(request: KafkaRequest) -> Fields:
    """Refusal of each creation."""
    refused = {"error_code": ErrorCode.SECURITY_DISABLED, "error_message": f"{NO_AUTHORIZER}."}
    return {"results": [refused for _ in request.body.creations]}


def acls_deleted(request: KafkaRequest) -> Fields:
    """Refusal of each filter."""
    refused = {"error_code": ErrorCode.SECURITY_DISABLED, "error_message": f"{NO_AUTHORIZER}.", "matching_acls": []}
    results = [refused for _ in request.body.filters]
    return {"filter_results": results}


def client_quotas_described(request: KafkaRequest) -> Fields:
    """An empty list, or Kafka's error for an invalid filter."""
    with_ips = request.listener.apis[DESCRIBE_CLIENT_QUOTAS].most >= FIRST_WITH_IPS
    error, message = _wrong([one.entity_type for one in request.body.components], with_ips)
    return {"error_code": error, "error_message": message, "entries": None if error else []}


def client_quotas_altered(request: KafkaRequest) -> Fields:
    """ZkAdminManager.alterClientQuotas: removals succeed without effect, additions fail."""
    with_ips = request.listener.apis[DESCRIBE_CLIENT_QUOTAS].most >= FIRST_WITH_IPS
    entries = []
    for one in request.body.entries:
        error, message = _unalterable([each.entity_type for each in one.entity], one.ops, with_ips)
        entity = [{"entity_type": each.entity_type, "entity_name": each.entity_name} for each in one.entity]
        entries.append({"error_code": error, "error_message": message, "entity": entity})
    return {"entries": entries}


def _unalterable(types: list[str], ops: list[Any], with_ips: bool) -> tuple[int, str | None]:
    if "ip" in types and with_ips and len(types) > 1:
        combined = "IP entity should not be used with user/client ID entity."
        return ErrorCode.INVALID_REQUEST, f"Invalid quota entity combination, {combined}"
    known = {"user", "client-id", "ip"} if with_ips else {"user", "client-id"}
    if not types or not known.issuperset(types):
        return ErrorCode.INVALID_REQUEST, "Invalid client quota entity"
    keys = QUOTAS_OF_IPS if "ip" in types else QUOTAS
    for op in ops:
        if not op.remove and op.key not in keys:
            return ErrorCode.INVALID_REQUEST, f"Invalid configuration key {op.key}"
    if any(not op.remove for op in ops):
        return ErrorCode.POLICY_VIOLATION, "quotas of clients are not emulated"
    return ErrorCode.NONE, None


def scram_described(request: KafkaRequest) -> Fields:
    """ZkAdminManager.describeUserScramCredentials: no user has any."""
    times = Counter(one.name for one in request.body.users or ())
    results = [
        {"user": name, "error_code": error, "error_message": why, "credential_infos": []}
        for name in times
        for error, why in [_no_credential(name, times[name])]
    ]
    return {"error_code": ErrorCode.NONE, "error_message": None, "results": results}


def _no_credential(user: str, times: int) -> tuple[int, str]:
    if not user:
        return ErrorCode.RESOURCE_NOT_FOUND, "Username must not be empty"
    if times > 1:
        twice = "Cannot describe SCRAM credentials for the same user twice in a single request"
        return ErrorCode.DUPLICATE_RESOURCE, f"{twice}: {user}"
    return ErrorCode.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {user}"


def scram_altered(request: KafkaRequest) -> Fields:
    """ZkAdminManager.alterUserScramCredentials: deletions and upsertions fail."""
    body = request.body
    mechanisms: defaultdict[str, list[int]] = defaultdict(list)
    upserted: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for one in (*body.upsertions, *body.deletions):
        mechanisms[one.name].append(one.mechanism)
    for one in body.upsertions:
        upserted[one.name].append((one.mechanism, one.iterations))
    results = []
    for user, own in mechanisms.items():
        error, why = _unalterable_user(user, own, upserted[user])
        results.append({"user": user, "error_code": error, "error_message": why})
    return {"results": results}


def _unalterable_user(user: str, mechanisms: list[int], upserted: list[tuple[int, int]]) -> tuple[int, str]:
    if not user:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"
    if not set(SCRAM_MECHANISMS).issuperset(mechanisms):
        return ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"
    for mechanism, iterations in upserted:
        if iterations > SCRAM_ITERATIONS_MAX:
            return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"
        if iterations < SCRAM_MECHANISMS[mechanism]:
            return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"
    if len(set(mechanisms)) < len(mechanisms):
        return ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
    if len(upserted) < len(mechanisms):
        return ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
    return ErrorCode.POLICY_VIOLATION, "SCRAM credentials are not emulated"


def _wrong(types: list[str], with_ips: bool) -> tuple[int, str | None]:
    """(Kafka's code, its message) of the first fault of a filter; (0, None): it has none."""
    known = [name for name in _DUPLICATES if with_ips or name != "ip"]
    before: set[str] = set()
    for name in types:
        if name not in known:
            if not name:
                return ErrorCode.INVALID_REQUEST, "Unexpected empty filter component entity type"
            return ErrorCode.UNSUPPORTED_VERSION, f"Custom entity type '{name}' not supported"
        if name in before:
            return ErrorCode.INVALID_REQUEST, f"Duplicate {_DUPLICATES[name]} filter component entity type"
        before.add(name)
    if "ip" in before and len(before) > 1:
        return ErrorCode.INVALID_REQUEST, (
            "Invalid entity filter component combination, IP filter component should not be used with "
            "user or clientId filter component."
        )
    return ErrorCode.NONE, None
