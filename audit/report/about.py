"""About a run: what was played, with which version, seed, speed and settings, read from the run's directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from audit.report.played import scenario_of


class Setting(msgspec.Struct, frozen=True):
    """`whose`: brokers, session servers, producers or consumers. `value`: as text; with the nodes where they differ.
    `chosen`: the scenario says it."""

    whose: str
    name: str
    value: str
    chosen: bool


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What is not known is empty."""

    title: str = ""
    kafka: str = ""
    seed: int | None = None
    speed: float | None = None
    settings: tuple[Setting, ...] = ()


UNKNOWN = About()


def about_run(run: Path) -> About:
    """Of a run's directory. What cannot be read is left out: the audit has complained of it."""
    title, chosen = "", frozenset[str]()
    scenario = scenario_of(run)
    if scenario is not None:
        of_brokers = (name for given in scenario.settings_by_broker.values() for name in given)
        title, chosen = scenario.title, frozenset((*scenario.settings, *of_brokers))
    told = _settings_file(run)
    return About(
        title=title,
        kafka=_versions(told),
        seed=told.get("seed"),
        speed=told.get("speed"),
        settings=tuple(_settings(told, chosen)),
    )


def _versions(told: dict[str, Any]) -> str:
    """`2.6`; of brokers that were started with others later `0.11, then 2.8`."""
    starts = [of for of in told.get("starts", ()) if isinstance(of, dict)]
    found = [told.get("kafka", ""), *(of.get("kafka.version", "") for of in starts)]
    return ", then ".join(dict.fromkeys(str(version) for version in found if version))


def _settings_file(run: Path) -> dict[str, Any]:
    try:
        told = msgspec.json.decode((run / "settings.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return told if isinstance(told, dict) else {}


def _settings(told: dict[str, Any], chosen: frozenset[str]) -> list[Setting]:
    nodes: dict[str, dict[str, Any]] = {name: of for name, of in told.get("nodes", {}).items() if isinstance(of, dict)}
    brokers = {name: of for name, of in nodes.items() if "kafka.version" in of}
    groups: list[tuple[str, dict[str, dict[str, Any]]]] = [
        ("brokers", brokers),
        ("session servers", {name: of for name, of in nodes.items() if name not in brokers}),
        *((f"{name}s", {name: of}) for name, of in told.get("clients", {}).items() if isinstance(of, dict)),
    ]
    found = []
    for whose, group in groups:
        for name in dict.fromkeys(name for of in group.values() for name in of):
            scoped = {"producers": f"producer.{name}", "consumers": f"consumer.{name}"}.get(whose, name)
            found.append(Setting(whose, name, _value(name, group), scoped in chosen))
    return sorted(found, key=lambda setting: not setting.chosen)


def _value(name: str, group: dict[str, dict[str, Any]]) -> str:
    """One for all, or each with those that have it."""
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
