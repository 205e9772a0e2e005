"""Options common to commands that play scenarios, and to commands that take settings.

A group of options is a class with the decorator `options`; a command takes it as one parameter. The text below a field
is the help of its option.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar, dataclass_transform

from cyclopts import Parameter

from emulator.cli.plain_values import require_plain

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def options(cls: type[T]) -> type[T]:
    """Make the class a frozen dataclass, each of whose fields is an option. The parser does not
    apply the application's validator to fields of a group; so each field gets it."""
    cls.__annotations__ = {
        name: Annotated[hint, Parameter(validator=require_plain)] for name, hint in cls.__annotations__.items()
    }
    return Parameter(name="*")(dataclass(frozen=True, kw_only=True)(cls))


_REPEATED = Parameter(negative=(), show_default=False)
Listed = Annotated[tuple[str, ...], _REPEATED]
Setting = Annotated[Listed, Parameter(name="--set")]
Files = Annotated[Listed, Parameter(name="--settings")]
Parameters = Annotated[Listed, Parameter(name="--param")]
KafkaVersion = Annotated[str | None, Parameter(help="Kafka's version, such as 2.6, 3.9 or 4.4.")]
AnySetting = Annotated[Setting, Parameter(help="Any Kafka setting, `key=value`; repeatable.")]
Verbose = Annotated[bool, Parameter(name=["--verbose", "-v"], negative=())]
Metadata = Literal["zookeeper", "kraft"]
Flag = Annotated[bool, Parameter(negative=())]
Lasting = Annotated[str | None, Parameter(name="--for")]
Master = Annotated[
    str | None,
    Parameter(
        help="URL of a Spark master whose executors play the runs instead of this machine's cores, such as "
        "spark://host:7077."
    ),
]
AuditMaster = Annotated[
    str, Parameter(name="--master", help="URL of a Spark master, such as local[*] or spark://host:7077.")
]
Remote = Annotated[
    str | None,
    Parameter(
        help="URL of a Spark Connect server that finds the runs, and the folder of temporary files, at the same paths, "
        "such as sc://localhost:15002 (instead of --master).",
    ),
]
Cold = Annotated[
    bool, Parameter(negative=(), help="Start a Spark for this command alone, not the server that commands share.")
]


@options
class Settings:
    """The brokers' version, and settings of brokers and clients."""

    kafka_version: KafkaVersion = None
    overrides: AnySetting = ()
    files: Files = ()
    """A .properties file: server.properties, producer:my.properties,
    broker-0:server-0.properties; repeatable."""


@options
class ScenarioSettings(Settings):
    """Settings, and replacements of values in the scenario's file."""

    metadata: Metadata | None = None
    """Store of the cluster's metadata; by default the scenario's for its own versions, else
    ZooKeeper up to Kafka 3.2 and KRaft from 3.3 on."""
    parameters: Parameters = ()
    """Replacement of a value in the scenario's file, such as sleep#2=30 or cut.at_s=12;
    repeatable."""
