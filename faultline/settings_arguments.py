"""Settings as arguments of the interface: `kafka_version`, `settings`, `metadata`."""

from collections.abc import Mapping

from emulator.cli.play_options import Metadata, ScenarioSettings

Setting = str | int | float | bool


def options_of(
    kafka_version: str | None, settings: Mapping[str, Setting] | None, metadata: Metadata | None = None
) -> ScenarioSettings:
    """The same as options of a command; values as in a .properties file."""
    overrides = tuple(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in (settings or {}).items()
    )
    return ScenarioSettings(kafka_version=kafka_version, overrides=overrides, metadata=metadata)
