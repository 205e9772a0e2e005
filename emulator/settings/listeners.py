"""Kafka's rules for a broker's listeners.

Listeners have no effect here, since the topology decides where nodes listen. But a broker with refused listeners does
not start.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from emulator.topology import KRAFT, ZOOKEEPER
from protocol.versions import since

LISTENERS, ADVERTISED, PROTOCOLS = "listeners", "advertised.listeners", "listener.security.protocol.map"
INTER_BROKER, SECURITY, CONTROL = (
    "inter.broker.listener.name",
    "security.inter.broker.protocol",
    "control.plane.listener.name",
)
ADVERTISED_HOST, ADVERTISED_PORT, HOST, PORT = "advertised.host.name", "advertised.port", "host.name", "port"
CONTROLLERS, ROLES = "controller.listener.names", "process.roles"
LISTENER_NAMES: Final = (
    LISTENERS, ADVERTISED, PROTOCOLS, INTER_BROKER, SECURITY, CONTROL, ADVERTISED_HOST, ADVERTISED_PORT, HOST, PORT,
)  # fmt: skip
META_ADDRESS: Final = "0.0.0.0"
SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_END_POINT: Final = re.compile(r"([^:]*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
"""EndPoint.UriParseExp, with any letters in a listener's name."""

Problem = tuple[tuple[str, ...], str]


def broken_listeners(
    version: str, values: Mapping[str, Any], given: Collection[str], metadata: str = ZOOKEEPER
) -> Iterator[Problem]:
    """(settings, problem) of the first problem. A placeholder is not validated.

    `metadata`: in KRaft controllers have listeners of their own, which are no brokers' (KafkaConfig.validateValues).
    """
    if any("${" in str(values.get(name) or "") for name in LISTENER_NAMES):
        return
    named = since(version, "0.10.2")  # before, a listener's name was its security protocol
    protocols = security_protocols(values)
    of_controllers = set(_parts(str(values.get(CONTROLLERS) or "").upper())) if metadata == KRAFT else set()
    if of_controllers and PROTOCOLS not in given:
        protocols |= _by_default(values, of_controllers)
    if metadata == KRAFT and _parts(values.get(ROLES)) == ["controller"]:
        return  # it has no listener for brokers and clients
    ours: dict[str, list[tuple[str, str, int]]] = {}
    listened, shown = (LISTENERS, HOST, PORT), (ADVERTISED, ADVERTISED_HOST, ADVERTISED_PORT)
    for names, ends in ((listened, _listeners(values)), (shown, _advertised(values))):
        name = names[0]
        ours[name] = []
        for end in ends:
            match = _END_POINT.fullmatch(end)
            if match is None:
                yield names, f"{name}: {end!r} is no listener, such as PLAINTEXT://host:9092"
                return
            if match[1].upper() not in protocols:
                yield (*names, PROTOCOLS), f"{name}: no security protocol is defined for listener {match[1]}"
                return
            ours[name].append((match[1].upper(), match[2], int(match[3])))
        problem = _not_distinct(version, name, ours[name])
        if problem:
            yield names, problem
            return
    advertised_ends = [end for end in ours[ADVERTISED] or ours[LISTENERS] if end[0] not in of_controllers]
    if since(version, "1.0") and META_ADDRESS in [host for _, host, _ in advertised_ends]:
        by_default = "" if ours[ADVERTISED] else f"; without {ADVERTISED}, those of {LISTENERS} are advertised"
        yield (*shown, *listened), f"{ADVERTISED}: {META_ADDRESS} is no address that clients can connect to{by_default}"
        return
    listening = [name for name, _, _ in ours[LISTENERS]]
    advertised = [name for name, _, _ in advertised_ends]
    if not set(advertised) <= set(listening):
        yield (
            (*shown, *listened),
            f"{ADVERTISED} ({_names(advertised)}) are not all among {LISTENERS} ({_names(listening)})",
        )
        return
    yield from _between_brokers(values, given, advertised, named)


def security_protocols(values: Mapping[str, Any]) -> dict[str, str]:
    """{listener: its security protocol}.

    Before 0.10.2, without a map, a listener's name is its protocol.
    """
    if values.get(PROTOCOLS):
        pairs = [pair.strip().rpartition(":") for pair in str(values[PROTOCOLS]).split(",")]
        return {name.strip().upper(): protocol.strip() for name, _, protocol in pairs}
    return {name: name for name in SECURITY_PROTOCOLS}


def _by_default(values: Mapping[str, Any], of_controllers: Collection[str]) -> dict[str, str]:
    """Protocols of controllers' listeners without a map: PLAINTEXT, if none is encrypted.

    (KafkaConfig.effectiveListenerSecurityProtocolMap)
    """
    names = [end.partition(":")[0].upper() for end in _parts(values.get(LISTENERS))]
    if set(SECURITY_PROTOCOLS[1:]) & {*names, *of_controllers}:
        return {}
    return dict.fromkeys(of_controllers, SECURITY_PROTOCOLS[0])


def inter_broker_protocol(values: Mapping[str, Any]) -> str:
    """Security protocol between brokers.

    (KafkaConfig.getInterBrokerListenerNameAndSecurityProtocol)
    """
    if own := values.get(INTER_BROKER):
        return security_protocols(values).get(str(own).upper(), "")
    return str(values.get(SECURITY) or "PLAINTEXT")


def _listeners(values: Mapping[str, Any]) -> list[str]:
    """KafkaConfig.getListeners: without `listeners`, one made of the older settings."""
    return _parts(values.get(LISTENERS)) or [f"PLAINTEXT://{values.get(HOST) or ''}:{values.get(PORT) or 9092}"]


def _advertised(values: Mapping[str, Any]) -> list[str]:
    """KafkaConfig.getAdvertisedListeners; empty: the listeners are advertised."""
    if values.get(ADVERTISED):
        return _parts(values[ADVERTISED])
    if values.get(ADVERTISED_HOST) or values.get(ADVERTISED_PORT) is not None:
        host = values.get(ADVERTISED_HOST) or values.get(HOST) or ""
        return [f"PLAINTEXT://{host}:{values.get(ADVERTISED_PORT) or values.get(PORT) or 9092}"]
    return []


def _parts(text: object) -> list[str]:
    return [end.strip() for end in str(text or "").split(",") if end.strip()]


def _not_distinct(version: str, name: str, ends: list[tuple[str, str, int]]) -> str:
    """CoreUtils.listenerListToEndPoints; until 0.10.1 KafkaConfig.validateUniquePortAndProtocol.

    Port 0 is any port.
    """
    names, ports = [end[0] for end in ends], [end[2] for end in ends if end[2] != 0]
    if len(set(names)) < len(names):
        return f"{name}: each listener needs a name of its own"
    if len(set(ports)) < len(ports) and not (name == ADVERTISED and since(version, "2.7")):
        twice = next(port for port in ports if ports.count(port) > 1)
        return f"{name}: each listener needs a port of its own; {twice} is there twice"
    return ""


def _between_brokers(
    values: Mapping[str, Any], given: Collection[str], advertised: list[str], named: bool
) -> Iterator[Problem]:
    if named and values.get(INTER_BROKER) and SECURITY in given:
        yield (INTER_BROKER, SECURITY), f"only one of {INTER_BROKER} and {SECURITY} can be set"
        return
    own = str((values.get(INTER_BROKER) if named else "") or values.get(SECURITY) or "PLAINTEXT").upper()
    which = INTER_BROKER if named and values.get(INTER_BROKER) else SECURITY
    if own not in advertised:
        yield (
            (which, ADVERTISED, LISTENERS),
            f"{which}={own} is not among the advertised listeners ({_names(advertised)})",
        )
        return
    control = str(values.get(CONTROL) or "").upper()
    if control and control not in advertised:
        yield (
            (CONTROL, ADVERTISED, LISTENERS),
            f"{CONTROL}={control} is not among the advertised listeners ({_names(advertised)})",
        )
    elif control and control == own:
        yield (CONTROL, which), f"{CONTROL} must be another listener than that between brokers, {own}"


def _names(names: list[str]) -> str:
    return ", ".join(names)
