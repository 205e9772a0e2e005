"""Structures of SARIF 2.1.0, as far as findings use them. Pure.

Field names are camel case in JSON. The standard is OASIS SARIF 2.1.0; comments name its sections. Only fields that code
scanning of Git hosts reads.
"""

from typing import Any, Final, Literal

import msgspec

VERSION: Final = "2.1.0"
SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RESULTS_MAX: Final = 5_000
"""Code scanning of GitHub shows no more of one run."""
Level = Literal["none", "note", "warning", "error"]


class _Sarif(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    pass


class Message(_Sarif, frozen=True):
    """Section 3.11; `markdown` is for viewers that show it, `text` for all."""

    text: str
    markdown: str = ""


class Rule(_Sarif, frozen=True):
    """A reporting descriptor (3.49)."""

    id: str
    name: str
    short_description: Message
    full_description: Message
    help: Message
    help_uri: str
    properties: dict[str, Any] = {}


class Driver(_Sarif, frozen=True):
    """The tool itself (3.19)."""

    name: str
    version: str
    information_uri: str
    rules: tuple[Rule, ...]


class Tool(_Sarif, frozen=True):
    driver: Driver


class ArtifactLocation(_Sarif, frozen=True):
    """A file (3.4). `uri`: relative, or with a scheme."""

    uri: str


class Region(_Sarif, frozen=True):
    start_line: int


class PhysicalLocation(_Sarif, frozen=True):
    artifact_location: ArtifactLocation
    region: Region


class LogicalLocation(_Sarif, frozen=True):
    """A place that is no file (3.33)."""

    fully_qualified_name: str
    kind: str


class Location(_Sarif, frozen=True):
    """A place (3.28) and the change that it needs."""

    message: Message
    physical_location: PhysicalLocation | None = None
    logical_locations: tuple[LogicalLocation, ...] = ()


class Result(_Sarif, frozen=True):
    """A finding (3.27). `locations`: several if the change needs all of them."""

    rule_id: str
    rule_index: int
    level: Level
    message: Message
    locations: tuple[Location, ...]
    partial_fingerprints: dict[str, str]
    properties: dict[str, Any] = {}


class Notification(_Sarif, frozen=True):
    """A condition of the run that is no finding (3.58)."""

    level: Level
    message: Message


class Invocation(_Sarif, frozen=True):
    """The tool's end (3.20)."""

    execution_successful: bool
    exit_code: int
    tool_configuration_notifications: tuple[Notification, ...] = ()
    tool_execution_notifications: tuple[Notification, ...] = ()


class Run(_Sarif, frozen=True):
    """One run of the tool (3.14). `column_kind` is required by the rules for regions."""

    tool: Tool
    invocations: tuple[Invocation, ...]
    results: tuple[Result, ...]
    properties: dict[str, Any] = {}


class SarifLog(_Sarif, frozen=True):
    """The document (3.13)."""

    schema: str = msgspec.field(name="$schema")
    version: str
    runs: tuple[Run, ...]


def sarif_bytes(run: Run) -> bytes:
    """The document of one run, in UTF-8, indented."""
    document = msgspec.json.encode(SarifLog(schema=SCHEMA, version=VERSION, runs=(run,)))
    return msgspec.json.format(document, indent=1) + b"\n"
