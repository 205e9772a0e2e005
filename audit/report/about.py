"""Options of a run: version, seed, speed and settings, read from the run's directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from audit.report.played import scenario_of
from protocol.undecodable import UNDECODABLE


class Setting(msgspec.Struct, frozen=True):
    """A setting. `whose`: brokers, ZooKeeper servers, producers or consumers.

    `value`: as text; with the nodes where they differ. `chosen`: the scenario sets it.
    """

    whose: str
    name: str
    value: str
    chosen: bool


class About(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a run; unknown ones are empty."""

    title: str = ""
    kafka: str = ""
    seed: int | None = None
    speed: float | None = None
    settings: tuple[Setting, ...] = ()


UNKNOWN = About()


def about_run(run: Path) -> About:
    """Options of a run's directory, without unreadable ones, which the audit has reported."""
    title, chosen = "", frozenset[str]()
    scenario = scenario_of(run)
    if scenario is not None:
        of_brokers = (name for given in scenario.settings_by_broker.values() for name in given)
        title, chosen = scenario.title, frozenset((*scenario.settings, *of_brokers))
    fields = _settings_file(run)
    return About(
        title=title,
        kafka=_versions(fields),
        seed=fields.get("seed"),
        speed=fields.get("speed"),
        settings=tuple(_settings(fields, chosen)),
    )


def _versions(fields: dict[str, Any]) -> str:
    """`2.6`; with brokers that started with other versions later `0.11, then 2.8`."""
    starts = [of for of in fields.get("starts", ()) if isinstance(of, dict)]
    found = [fields.get("kafka", ""), *(of.get("kafka.version", "") for of in starts)]
    return ", then ".join(dict.fromkeys(str(version) for version in found if version))


def _settings_file(run: Path) -> dict[str, Any]:
    try:
        fields = msgspec.json.decode((run / "settings.json").read_bytes())
    except (OSError, *UNDECODABLE):
        return {}
    return fields if isinstance(fields, dict) else {}


def _settings(fields: dict[str, Any], chosen: frozenset[str]) -> list[Setting]:
    nodes: dict[str, dict[str, Any]] = {
        name: of for name, of in fields.get("nodes", {}).items() if isinstance(of, dict)
    }
    brokers = {name: of for name, of in nodes.items() if "kafka.version" in of}
    groups: list[tuple[str, dict[str, dict[str, Any]]]] = [
        ("brokers", brokers),
        ("session servers", {name: of for name, of in nodes.items() if name not in brokers}),
        *((f"{name}s", {name: of}) for name, of in fields.get("clients", {}).items() if isinstance(of, dict)),
    ]
    found = []
    for whose, group in groups:
        for name in dict.fromkeys(name for of in group.values() for name in of):
            scoped = {"producers": f"producer.{name}", "consumers": f"consumer.{name}"}.get(whose, name)
            found.append(Setting(whose, name, _value(name, group), scoped in chosen))
    return sorted(found, key=lambda setting: not setting.chosen)


def _value(name: str, group: dict[str, dict[str, Any]]) -> str:
    """The value, or each value with the nodes that have it."""
    holders: dict[str, list[str]] = {}
    for node, settings in group.items():
        if name in settings:
            holders.setdefault(_plain(settings[name]), []).append(node)
    if len(holders) == 1:
        return next(iter(holders))
    return "; ".join(f"{value} ({', '.join(nodes)})" for value, nodes in holders.items())


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if value < 1e6 else f"{value:.0f}"
    return str(value)
