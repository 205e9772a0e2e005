"""What brokers answer of ACLs and quotas that have neither: no authorizer is configured (`authorizer.class.name` is
empty, as by default), and nobody was ever given a quota.

The machine has no part in them: these answers are Kafka's in its own cases (KafkaApis' handlers, AdminManager's
describeClientQuotas), the same at every broker and time.
"""

from typing import Any, Final

from emulator.worlds.network.door.apis import DESCRIBE_CLIENT_QUOTAS, Range
from emulator.worlds.network.door.codec import Asked, part, response
from protocol.errors import ErrorCode

NO_AUTHORIZER: Final = "No Authorizer is configured on the broker"
FIRST_WITH_IPS: Final = 1
"""Version of DESCRIBE_CLIENT_QUOTAS that a broker speaks which has quotas of IP addresses, too."""
_DUPLICATES: Final = {"user": "user", "client-id": "client", "ip": "ip"}
"""{type of an entity: as Kafka names it where it is there twice}"""


def acls_described(asked: Asked) -> Any:
    return response(asked.api, error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER, resources=[])


def acls_created(asked: Asked) -> Any:
    """None of them, each with the reason."""
    refused = {"error_code": ErrorCode.SECURITY_DISABLED, "error_message": f"{NO_AUTHORIZER}."}
    return response(asked.api, results=[part(asked.api, "AclCreationResult", **refused) for _ in asked.body.creations])


def acls_deleted(asked: Asked) -> Any:
    """No filter finds any, each with the reason."""
    refused = {"error_code": ErrorCode.SECURITY_DISABLED, "error_message": f"{NO_AUTHORIZER}.", "matching_acls": []}
    results = [part(asked.api, "DeleteAclsFilterResult", **refused) for _ in asked.body.filters]
    return response(asked.api, filter_results=results)


def client_quotas_described(asked: Asked, spoken: dict[int, Range]) -> Any:
    """There are none, unless what is asked makes no sense."""
    with_ips = spoken[DESCRIBE_CLIENT_QUOTAS].most >= FIRST_WITH_IPS
    error, message = _wrong([one.entity_type for one in asked.body.components], with_ips)
    return response(asked.api, error_code=error, error_message=message, entries=None if error else [])


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
