"""What Kafka refuses of a broker's listeners. They have no bearing here, for the topology says where nodes listen; but
a broker that does not start with them would not be one that is played."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from protocol.versions import since

LISTENERS, ADVERTISED, PROTOCOLS = "listeners", "advertised.listeners", "listener.security.protocol.map"
INTER_BROKER, SECURITY, CONTROL = (
    "inter.broker.listener.name",
    "security.inter.broker.protocol",
    "control.plane.listener.name",
)
LISTENER_NAMES: Final = (LISTENERS, ADVERTISED, PROTOCOLS, INTER_BROKER, SECURITY, CONTROL)
SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_END_POINT: Final = re.compile(r"([^:]*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
"""EndPoint.UriParseExp, with any letters in a listener's name."""

Problem = tuple[tuple[str, ...], str]


def broken_listeners(version: str, values: Mapping[str, Any], given: Collection[str]) -> Iterator[Problem]:
    """(settings it is about, what is wrong), of the first thing that is wrong. A placeholder is nobody's listener."""
    if any("${" in str(values.get(name) or "") for name in LISTENER_NAMES):
        return
    named = since(version, "0.10.2")  # before, a listener's name was its security protocol
    protocols = {name: name for name in SECURITY_PROTOCOLS}
    if named and values[PROTOCOLS]:
        pairs = [pair.strip().rpartition(":") for pair in str(values[PROTOCOLS]).split(",")]
        protocols = {name.strip().upper(): protocol.strip() for name, _, protocol in pairs}
    ours: dict[str, list[str]] = {}
    for name in (LISTENERS, ADVERTISED):
        ends = [end.strip() for end in str(values.get(name) or "").split(",") if end.strip()]
        for end in ends:
            match = _END_POINT.fullmatch(end)
            if match is None:
                yield (name,), f"{name}: {end!r} is no listener, such as PLAINTEXT://host:9092"
                return
            if match[1].upper() not in protocols:
                yield (name, PROTOCOLS), f"{name}: no security protocol is defined for listener {match[1]}"
                return
            if name == ADVERTISED and match[2] == "0.0.0.0" and since(version, "1.0"):
                yield (name,), f"{ADVERTISED} cannot be 0.0.0.0, to which nobody can connect"
                return
        ours[name] = [end.partition(":")[0].upper() for end in ends]
        if len(set(ours[name])) < len(ours[name]):
            yield (name,), f"{name}: each listener needs a name of its own"
            return
    listening = ours[LISTENERS] or ["PLAINTEXT"]
    advertised = ours[ADVERTISED] or listening
    if not set(advertised) <= set(listening):
        yield (
            (ADVERTISED, LISTENERS),
            f"{ADVERTISED} ({_told(advertised)}) are not all among {LISTENERS} ({_told(listening)})",
        )
        return
    yield from _between_brokers(values, given, advertised, named)


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
            f"{which}={own} is not among the advertised listeners ({_told(advertised)})",
        )
        return
    control = str(values.get(CONTROL) or "").upper()
    if control and control not in advertised:
        yield (
            (CONTROL, ADVERTISED, LISTENERS),
            f"{CONTROL}={control} is not among the advertised listeners ({_told(advertised)})",
        )
    elif control and control == own:
        yield (CONTROL, which), f"{CONTROL} must be another listener than that between brokers, {own}"


def _told(names: list[str]) -> str:
    return ", ".join(names)
