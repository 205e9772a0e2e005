"""Settings files of a `start`: the settings that a broker can change at a restart."""

from collections.abc import Sequence

from emulator.cluster.control_requests import Refused
from emulator.machines.node.restarts import ON_DISK
from emulator.settings.bearing import SET_HERE
from emulator.settings.properties_files import SettingsFile
from emulator.settings.setting import BROKER
from emulator.settings.setting_registry import A_SETTING_OF, BY_SCOPE, GROUP_OF, slip_of


def settings_from(files: Sequence[SettingsFile], nodes: Sequence[str]) -> dict[str, str]:
    """{name: value}, later files first.

    Raises Refused for a file of another kind or broker, and for a typo.

    Settings that the topology or the emulator sets (broker.id, listeners, log.dirs) are left out, and so are those that
    are not Kafka's.
    """
    found: dict[str, str] = {}
    for file in files:
        if file.scope != BROKER:
            raise Refused(f"{file.name}: its settings are {A_SETTING_OF[file.scope]}; a broker starts")
        if file.broker is not None and list(nodes) != [f"broker-{file.broker}"]:
            raise Refused(f"{file.name} is broker-{file.broker}'s; for others: --settings broker:{file.name}")
        for entry in file.entries:
            if entry.name in BY_SCOPE[BROKER]:
                if GROUP_OF[entry.name].standing != SET_HERE and entry.name != ON_DISK:
                    found[entry.name] = entry.value
            elif slip := slip_of(entry.name, BY_SCOPE[BROKER]):
                raise Refused(f"{file.name}:{entry.line}: unknown setting {entry.name!r}; nearest: {slip}")
    return found
