"""Start of a node with another binary or other settings: settings in force and refusals.

Explicit settings stay as they were, except those that the start itself changes. Defaults are the new binary's. The
start drops a setting that the new binary does not know, and reports it. The change stays for later starts of the
same node.
It refuses, with the reason:

- settings that no broker may set;
- settings that Kafka would refuse to start with;
- a binary that could not read its disk;
- what is not modelled here (semantics 4.6).
"""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from emulator.machines.node.specs import RunSpec
from emulator.settings.account import Account, Dropped
from emulator.settings.accounting import Everything, account, check
from emulator.settings.applied import Given, Layer
from emulator.settings.bearing import SET_HERE
from emulator.settings.in_force import FORMAT, PROTOCOL, resolve_settings
from emulator.settings.setting import BROKER
from emulator.settings.setting_registry import A_SETTING_OF, GROUP_OF, UnusableSetting, found, nearest_setting, usable
from emulator.topology import metadata_of
from protocol.gates import gates_for
from protocol.versions import LADDER, UnknownVersion, UnusableProtocolVersion, ladder_name, rank

ON_DISK = "log.dirs"
"""Setting that names a broker's directories on disk, which no start changes."""


class UnusableStart(UnusableSetting):
    """A start with an unusable binary or unusable settings: one message, which names the node."""


class Restarted(msgspec.Struct, frozen=True):
    """A run's spec after the change. `account`: report of the node's settings."""

    spec: RunSpec
    account: Account


def restarted(
    spec: RunSpec, node: str, version: str, settings: Mapping[str, Any], *, insists: Collection[str] = ()
) -> Restarted:
    """The spec after a start of `node` with other settings. Raises UnusableStart.

    `version` "": the binary stays. `settings`: by Kafka's name; None: no longer explicit. A setting that the
    version does not know is dropped and reported; if it is in `insists`, it is refused.
    """
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
    metadata_of(binary, spec.topology.metadata)
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
        is_new = settings.get(name) is not None
        if not setting.exists_in(binary) and name not in insists:
            dropped.append(Dropped(name, f"not a setting of Kafka {binary}: {setting.lifetime}", where))
        else:
            kept[name] = Given(usable(name, value, binary), where if is_new else "")
    if kept.get(ON_DISK, Given("", "")).value != spec.given.get(node, {}).get(ON_DISK, ""):
        raise UnusableSetting(f"{ON_DISK} names the directories on its disk and cannot change; leave it out")
    everything = Everything(version=binary, cluster=kept, metadata=spec.topology.metadata)
    check(everything)
    in_force = {name: one.value for name, one in kept.items() if everything.acts(name)}
    changed = msgspec.structs.replace(
        spec,
        binaries={**spec.binaries, node: binary},
        settings={**spec.settings, node: dict(resolve_settings(binary, in_force, metadata=spec.topology.metadata))},
        given={**spec.given, node: in_force},
    )
    _check_disk(spec, changed, node)
    report = account(everything, Layer(), dropped)
    # The format is what clients of the run write, and nothing has to be converted.
    bearing = tuple(one for one in report.not_modelled if one.name != FORMAT)
    return Restarted(changed, msgspec.structs.replace(report, not_modelled=bearing))


def _check_name(name: str) -> None:
    """Validate a setting's name. Raises UnusableSetting."""
    setting = found(name)
    if setting is None:
        raise UnusableSetting(f"unknown setting {name!r}{nearest_setting(name)}")
    if setting.scope != BROKER:
        raise UnusableSetting(f"{setting.key} is {A_SETTING_OF[setting.scope]} setting, and a broker starts")
    if GROUP_OF[setting.key].standing == SET_HERE and name != ON_DISK:
        raise UnusableSetting(f"{name} is set here: {GROUP_OF[setting.key].why}")


def _check_disk(before: RunSpec, after: RunSpec, node: str) -> None:
    """Validate the disk for this binary. Raises UnusableSetting, UnusableProtocolVersion."""
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
    """Current spec of a run's nodes. Both worlds read it before each incarnation."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec

    def change(self, node: str, version: str, settings: Mapping[str, Any]) -> None:
        """Change a node's binary and settings. Raises UnusableStart."""
        self.spec = restarted(self.spec, node, version, settings).spec

    def start_details(self, node: str) -> tuple[str, str, str]:
        """Fields of its start's event: binary, protocol version, explicit settings (`a=1 b=2`)."""
        return start_details(self.spec, node)


def start_details(spec: RunSpec, node: str) -> tuple[str, str, str]:
    """As Roster.start_details; "" of nodes that have none."""
    if node not in spec.settings:
        return "", "", ""
    given = " ".join(f"{name}={plain(value)}" for name, value in sorted(spec.given.get(node, {}).items()))
    return spec.binary(node), spec.protocol(node), given


def plain(value: object) -> str:
    """Text of a value in Kafka's files."""
    return str(value).lower() if isinstance(value, bool) else str(value)
