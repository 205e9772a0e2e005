"""Options common to commands that play scenarios, and to commands that take settings.

A field of a group needs the validator of plain values itself: the application's default does not reach it.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from cyclopts import Parameter

from emulator.cli.plain_values import require_plain

KafkaVersion = Annotated[
    str | None, Parameter(help="The brokers' version, such as 2.6 or 0.10.2.", validator=require_plain)
]
Setting = Annotated[list[str] | None, Parameter(name="--set", negative=())]
AnySetting = Annotated[Setting, Parameter(help="Any Kafka setting, `key=value`; repeatable.", validator=require_plain)]
Files = Annotated[list[str] | None, Parameter(name="--settings", negative=())]
Parameters = Annotated[list[str] | None, Parameter(name="--param", negative=())]
Verbose = Annotated[bool, Parameter(name=["--verbose", "-v"], negative=())]
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
FileOfAll = Annotated[
    Files,
    Parameter(
        help="A .properties file: server.properties, producer:my.properties, broker-0:server-0.properties; repeatable.",
        validator=require_plain,
    ),
]
Replacement = Annotated[
    Parameters,
    Parameter(
        help="Replacement of a value in the scenario's file, such as sleep#2=30 or cut.at_s=12; repeatable.",
        validator=require_plain,
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Settings:
    """The brokers' version, and settings of brokers and clients."""

    kafka_version: KafkaVersion = None
    set_: AnySetting = None
    settings: FileOfAll = None

    @property
    def overrides(self) -> tuple[str, ...]:
        return tuple(self.set_ or ())

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(self.settings or ())


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScenarioSettings(Settings):
    """Settings, and replacements of values in the scenario's file."""

    param: Replacement = None

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.param or ())


OF_KAFKA: Final = Settings()
OF_SCENARIO: Final = ScenarioSettings()
