"""A service's environment as settings: Kafka's in the convention of its images, ZooKeeper's in that of its image.

`KAFKA_MIN_INSYNC_REPLICAS` is min.insync.replicas: an underscore is a dot, two are an underscore. `ZOO_TICK_TIME`,
`ZOO_INIT_LIMIT` and `ZOO_SYNC_LIMIT` are those of zoo.cfg. `FAULTLINE_*` is our own. Other variables belong to the
process and are left alone.
"""

from typing import Final

from emulator.scenario.document import nearest
from emulator.scenario.setting import BROKER, Value
from emulator.scenario.settings import REGISTRY, UnusableSetting, usable

KAFKA, ZOO, FAULTLINE = "KAFKA_", "ZOO_", "FAULTLINE_"

ZOO_SETTINGS: Final = {"ZOO_TICK_TIME": "tickTime", "ZOO_INIT_LIMIT": "initLimit", "ZOO_SYNC_LIMIT": "syncLimit"}

NODE, TOKEN, VERSION, SPEED = "FAULTLINE_NODE", "FAULTLINE_TOKEN", "FAULTLINE_KAFKA_VERSION", "FAULTLINE_SPEED"
OWN: Final = (NODE, TOKEN, VERSION, SPEED)
"""What the process of a node reads beside the settings."""

BROKER_SETTINGS: Final = tuple(name for name, setting in REGISTRY.items() if setting.scope == BROKER)


def kafka_setting(variable: str) -> str:
    """`KAFKA_MIN_INSYNC_REPLICAS` -> min.insync.replicas."""
    words = variable.removeprefix(KAFKA).lower().split("__")
    return "_".join(word.replace("_", ".") for word in words)


def kafka_variable(setting: str) -> str:
    """min.insync.replicas -> `KAFKA_MIN_INSYNC_REPLICAS`."""
    return KAFKA + setting.replace("_", "__").replace(".", "_").upper()


def read_kafka(variable: str, value: str, version: str | None) -> tuple[str, Value]:
    """Setting and value, typed. Raises UnusableSetting, which names the variable or the setting."""
    name = kafka_setting(variable)
    if name not in BROKER_SETTINGS:
        known = (kafka_variable(setting) for setting in BROKER_SETTINGS)
        raise UnusableSetting(f"{variable} is no setting of a broker{nearest(variable, known)}")
    return name, usable(name, value, version)


def read_zoo(variable: str, value: str) -> tuple[str, int]:
    """Setting, as in zoo.cfg, and value. Raises UnusableSetting, which names the variable or the setting."""
    if variable not in ZOO_SETTINGS:
        raise UnusableSetting(f"{variable} is no setting of a session server{nearest(variable, ZOO_SETTINGS)}")
    name = ZOO_SETTINGS[variable]
    return name, int(usable(name, value))
