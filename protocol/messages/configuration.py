"""Messages of whoever asks for settings and changes them: DescribeConfigs, AlterConfigs, IncrementalAlterConfigs.

A *resource* is a topic, a broker by its number, or all brokers (the empty name). Kafka's clients ask a broker; our own
commands write znodes, as Kafka's tools did at the time.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from protocol.messages.base import RESPONSE, ErrorField, Message, register

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
RESOURCES_MAX = 1_000
SETTINGS_MAX = 1_000
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
"""Operations of IncrementalAlterConfigs; the last two are of lists."""

Int8 = Annotated[int, Meta(ge=-128, le=127)]
ResourceKind = Int8
ResourceName = Annotated[str, Meta(max_length=2**15 - 1)]


class ResourceAsked(msgspec.Struct, omit_defaults=True):
    """`names`: of the settings; None: all of them."""

    kind: ResourceKind
    name: ResourceName
    names: Annotated[list[str], Meta(max_length=SETTINGS_MAX)] | None = None


@register
class DescribeConfigsRequest(Message):
    """`synonyms`: also what else is said of a setting; `documentation`: what it means here."""

    API_KEY = 32
    API_NAME = "DescribeConfigs"
    VERSIONS = (0, 4)
    resources: Annotated[list[ResourceAsked], Meta(max_length=RESOURCES_MAX)]
    synonyms: bool = False
    documentation: bool = False


class SettingSynonym(msgspec.Struct):
    """`source`: 1 a topic's own, 2 given to this broker, 3 to all brokers, 4 in its file, 5 the default."""

    name: str
    value: str | None
    source: Int8


class DescribedSetting(msgspec.Struct, omit_defaults=True):
    """`value` None: it is not set, or `sensitive`. `kind`: 1 bool, 2 text, 3 int, 4 short, 5 long, 6 double, 7 list, 8
    class, 9 password. `synonyms`: what is said of it, the first is in force."""

    name: str
    value: str | None
    source: Int8
    kind: Int8
    read_only: bool = False
    sensitive: bool = False
    synonyms: list[SettingSynonym] = []
    documentation: str | None = None


class DescribedResource(msgspec.Struct, omit_defaults=True):
    """`message`: of an error, for people."""

    kind: ResourceKind
    name: str
    error: ErrorField = 0
    message: str = ""
    settings: list[DescribedSetting] = []


@register
class DescribeConfigsResponse(Message):
    API_KEY = 32
    API_NAME = "DescribeConfigs"
    DIRECTION = RESPONSE
    VERSIONS = (0, 4)
    resources: list[DescribedResource]


class AlteredSetting(msgspec.Struct, omit_defaults=True):
    """`operation`: SET, DELETE, APPEND or SUBTRACT. A value of None is right for DELETE alone."""

    name: str
    value: str | None
    operation: Int8 = SET


class AlteredResource(msgspec.Struct):
    kind: ResourceKind
    name: ResourceName
    settings: Annotated[list[AlteredSetting], Meta(max_length=SETTINGS_MAX)]


class AlterResult(msgspec.Struct, omit_defaults=True):
    """`message`: of an error, for people."""

    kind: ResourceKind
    name: str
    error: ErrorField = 0
    message: str = ""


@register
class AlterConfigsRequest(Message):
    """A resource has these settings and no others."""

    API_KEY = 33
    API_NAME = "AlterConfigs"
    VERSIONS = (0, 2)
    resources: Annotated[list[AlteredResource], Meta(max_length=RESOURCES_MAX)]
    validate_only: bool = False


@register
class AlterConfigsResponse(Message):
    API_KEY = 33
    API_NAME = "AlterConfigs"
    DIRECTION = RESPONSE
    VERSIONS = (0, 2)
    resources: list[AlterResult]


@register
class IncrementalAlterConfigsRequest(Message):
    """A resource keeps what is not named (KIP-339)."""

    API_KEY = 44
    API_NAME = "IncrementalAlterConfigs"
    VERSIONS = (0, 1)
    resources: Annotated[list[AlteredResource], Meta(max_length=RESOURCES_MAX)]
    validate_only: bool = False


@register
class IncrementalAlterConfigsResponse(Message):
    API_KEY = 44
    API_NAME = "IncrementalAlterConfigs"
    DIRECTION = RESPONSE
    VERSIONS = (0, 1)
    resources: list[AlterResult]
