"""A service's environment as settings, in the conventions of Kafka's and ZooKeeper's images.

`KAFKA_MIN_INSYNC_REPLICAS` is min.insync.replicas: an underscore is a dot, two are an underscore. `ZOO_TICK_TIME` is
tickTime, and so are the other times of zoo.cfg. `FAULTLINE_*` is our own. Other variables belong to the process and are
left alone.
"""

from typing import Final

from emulator.scenario.document import nearest
from emulator.settings.setting import BROKER, Value
from emulator.settings.setting_registry import REGISTRY, UnusableSetting, usable

KAFKA, ZOO, FAULTLINE = "KAFKA_", "ZOO_", "FAULTLINE_"

ZOO_SETTINGS: Final = {
    "ZOO_TICK_TIME": "tickTime",
    "ZOO_INIT_LIMIT": "initLimit",
    "ZOO_SYNC_LIMIT": "syncLimit",
    "ZOO_MIN_SESSION_TIMEOUT": "minSessionTimeout",
    "ZOO_MAX_SESSION_TIMEOUT": "maxSessionTimeout",
}

OF_IMAGES: Final = frozenset(
    f"{KAFKA}{word}"
    for word in (
        *("VERSION", "HOME", "HEAP_OPTS", "OPTS", "JMX_OPTS", "JMX_PORT", "JMX_HOSTNAME", "GC_LOG_OPTS"),
        *("JVM_PERFORMANCE_OPTS", "LOG4J_OPTS", "LOG4J_ROOT_LOGLEVEL", "LOG4J_LOGGERS", "TOOLS_LOG4J_LOGLEVEL"),
    )
)
"""Variables of Kafka's images that are no settings: options of Java and of its logs."""

NODE, TOKEN, VERSION, SPEED = "FAULTLINE_NODE", "FAULTLINE_TOKEN", "FAULTLINE_KAFKA_VERSION", "FAULTLINE_SPEED"
DATA_FOLDER = "FAULTLINE_DATA_FOLDER"
OWN: Final = (NODE, TOKEN, VERSION, SPEED, DATA_FOLDER)
"""Variables that a node's process reads beside the settings."""

_CAPITALS: Final = {name.lower(): name for name in REGISTRY if name != name.lower()}
BROKER_SETTINGS: Final = tuple(name for name, setting in REGISTRY.items() if setting.scope == BROKER)


def kafka_setting(variable: str) -> str:
    """`KAFKA_MIN_INSYNC_REPLICAS` -> min.insync.replicas."""
    words = variable.removeprefix(KAFKA).lower().split("__")
    name = "_".join(word.replace("_", ".") for word in words)
    return _CAPITALS.get(name, name)


def kafka_variable(setting: str) -> str:
    """min.insync.replicas -> `KAFKA_MIN_INSYNC_REPLICAS`."""
    return KAFKA + setting.replace("_", "__").replace(".", "_").upper()


def read_kafka(variable: str, value: str, version: str) -> tuple[str, Value]:
    """Setting and value, typed; also one that the version does not have.

    Raises UnusableSetting, which names the variable or the setting.
    """
    name = kafka_setting(variable)
    if name not in BROKER_SETTINGS:
        known = (kafka_variable(setting) for setting in BROKER_SETTINGS)
        raise UnusableSetting(f"{variable} is no setting of a broker{nearest(variable, known)}")
    return name, usable(name, value, version if REGISTRY[name].exists_in(version) else None)


def read_zoo(variable: str, value: str) -> tuple[str, Value]:
    """Setting, as in zoo.cfg, and value.

    Raises UnusableSetting, which names the variable or the setting.
    """
    if variable not in ZOO_SETTINGS:
        raise UnusableSetting(f"{variable} is no setting of a session server{nearest(variable, ZOO_SETTINGS)}")
    name = ZOO_SETTINGS[variable]
    return name, usable(name, value)
