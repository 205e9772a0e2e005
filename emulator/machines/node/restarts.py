"""A node starts with another binary or other settings: what it is told from then on, and what cannot be.

What a server.properties said stays as it was, but for what the start itself says; defaults are the new binary's. What
the new binary does not know is dropped, with a word. The change stays for later starts of the same node.

Refused, with the reason: what no broker is told, what Kafka would refuse to start with, and what a binary would find on
its disk and could not read, or is not modelled here (semantics 4.6)."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from emulator.machines.node.specs import RunSpec
from emulator.settings.account import Account, Dropped
from emulator.settings.accounting import Everything, account, check
from emulator.settings.applied import Given, Layer
from emulator.settings.bearing import MODELLED, NOT_MODELLED, SET_HERE
from emulator.settings.in_force import FORMAT, PROTOCOL, resolve_settings
from emulator.settings.registry import A_SETTING_OF, GROUP_OF, UnusableSetting, found, nearest_setting, usable
from emulator.settings.setting import BROKER
from protocol.versions import LADDER, UnknownVersion, UnusableProtocolVersion, gates_for, ladder_name, rank

ON_DISK = "log.dirs"
"""It says what is on a broker's disk, which no start changes."""


class UnusableStart(UnusableSetting):
    """A start with a binary or settings that cannot be: one message, which names the node."""


class Restarted(msgspec.Struct, frozen=True):
    """`account`: what is to be said of the settings that this node has now."""

    spec: RunSpec
    account: Account


def restarted(
    spec: RunSpec, node: str, version: str, settings: Mapping[str, Any], *, insists: Collection[str] = ()
) -> Restarted:
    """`version` "": the binary stays. `settings`: by Kafka's name; None: no longer given. What the version does not
    know is left out with a word, but refused of `insists`. Raises UnusableStart."""
    if not version and not settings:
        return Restarted(spec, Account())
    if node not in spec.settings:
        raise UnusableStart(f"{node} is neither broker nor controller: it has no version and no such settings")
    try:
        return _restarted(spec, node, version, settings, insists)
    except (UnknownVersion, UnusableSetting, UnusableProtocolVersion) as error:
        raise UnusableStart(f"{node}: {error}") from error


def _restarted(
    spec: RunSpec, node: str, version: str, settings: Mapping[str, Any], insists: Collection[str]
) -> Restarted:
    binary = ladder_name(version) if version else spec.binary(node)
    where = f"start {node}"
    given = dict(spec.given.get(node, {}))
    dropped: list[Dropped] = []
    for name, value in settings.items():
        _check_name(name)
        if value is None:
            given.pop(name, None)
        else:
            given[name] = value
    kept: dict[str, Given] = {}
    for name, value in given.items():
        setting = found(name)
        assert setting is not None, name
        asked_now = settings.get(name) is not None
        if not setting.exists_in(binary) and name not in insists:
            dropped.append(Dropped(name, f"Kafka {binary} does not know it: {setting.lifetime}", where))
        else:
            kept[name] = Given(usable(name, value, binary), where if asked_now else "")
    if kept.get(ON_DISK, Given("", "")).value != spec.given.get(node, {}).get(ON_DISK, ""):
        raise UnusableSetting(f"{ON_DISK} says what is on its disk, and stays as it is")
    everything = Everything(version=binary, cluster=kept)
    check(everything)
    in_force = {name: one.value for name, one in kept.items() if GROUP_OF[name].standing in (MODELLED, NOT_MODELLED)}
    changed = msgspec.structs.replace(
        spec,
        binaries={**spec.binaries, node: binary},
        settings={**spec.settings, node: dict(resolve_settings(binary, in_force))},
        given={**spec.given, node: in_force},
    )
    _check_disk(spec, changed, node)
    told = account(everything, Layer(), dropped)
    # The format is what clients of the run write, and nothing has to be converted.
    bearing = tuple(one for one in told.not_modelled if one.name != FORMAT)
    return Restarted(changed, msgspec.structs.replace(told, not_modelled=bearing))


def _check_name(name: str) -> None:
    """Raises UnusableSetting."""
    setting = found(name)
    if setting is None:
        raise UnusableSetting(f"unknown setting {name!r}{nearest_setting(name)}")
    if setting.scope != BROKER:
        raise UnusableSetting(f"{setting.key} is {A_SETTING_OF[setting.scope]} setting, and a broker starts")
    if GROUP_OF[setting.key].standing == SET_HERE and name != ON_DISK:
        raise UnusableSetting(f"{name} is set here: {GROUP_OF[setting.key].why}")


def _check_disk(before: RunSpec, after: RunSpec, node: str) -> None:
    """What this binary would find on its disk. Raises UnusableSetting, UnusableProtocolVersion."""
    was, binary = before.gates(node), after.binary(node)
    if rank(was.inter_broker_protocol) > rank(binary):
        spoken = was.inter_broker_protocol
        raise UnusableSetting(
            f"Kafka has no way back to {binary} from {PROTOCOL} {spoken}, which this broker has spoken; "
            f"a binary can be taken back only before {PROTOCOL} is raised"
        )
    now = after.gates(node).record_magic
    if now != was.record_magic:
        as_before = [one for one in LADDER if gates_for(one).record_magic == was.record_magic][-1]
        raise UnusableSetting(
            f"its records would change from format {was.record_magic} to {now}, and how brokers convert records is not "
            f"modelled: {FORMAT} has to stay at {as_before}"
        )


class Roster:
    """What a run's nodes are told as of now. Both worlds ask it before each life."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec

    def change(self, node: str, version: str, settings: Mapping[str, Any]) -> None:
        """Raises UnusableStart."""
        self.spec = restarted(self.spec, node, version, settings).spec

    def told(self, node: str) -> tuple[str, str, str]:
        """For the event of its start: binary, protocol version, settings that were asked for (`a=1 b=2`)."""
        return told(self.spec, node)


def told(spec: RunSpec, node: str) -> tuple[str, str, str]:
    """As Roster.told; "" of nodes that have none."""
    if node not in spec.settings:
        return "", "", ""
    given = " ".join(f"{name}={plain(value)}" for name, value in sorted(spec.given.get(node, {}).items()))
    return spec.binary(node), spec.protocol(node), given


def plain(value: object) -> str:
    """As Kafka's files have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
