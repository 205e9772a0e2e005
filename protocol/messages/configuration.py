"""Messages that read and change settings: DescribeConfigs, (Incremental)AlterConfigs.

A *resource* is a topic, a broker by its number, or all brokers (the empty name). Kafka's clients send requests to a
broker; our own commands write znodes, as Kafka's tools did at the time.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from protocol.messages.message_base import RESPONSE, ErrorField, Message, register

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
RESOURCES_MAX = 1_000
SETTINGS_MAX = 1_000
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
"""Operations of IncrementalAlterConfigs; the last two apply to lists."""

Int8 = Annotated[int, Meta(ge=-128, le=127)]
ResourceKind = Int8
ResourceName = Annotated[str, Meta(max_length=2**15 - 1)]


class DescribedResourceName(msgspec.Struct, omit_defaults=True):
    """A resource to describe. `names`: of the settings; None: all of them."""

    kind: ResourceKind
    name: ResourceName
    names: Annotated[list[str], Meta(max_length=SETTINGS_MAX)] | None = None


@register
class DescribeConfigsRequest(Message):
    """`synonyms`: include the other sources of a setting; `documentation`: include its meaning."""

    API_KEY = 32
    API_NAME = "DescribeConfigs"
    VERSIONS = (0, 4)
    resources: Annotated[list[DescribedResourceName], Meta(max_length=RESOURCES_MAX)]
    synonyms: bool = False
    documentation: bool = False


class SettingSynonym(msgspec.Struct):
    """A source of a value: 1 topic, 2 this broker, 3 all brokers, 4 its file, 5 default."""

    name: str
    value: str | None
    source: Int8


class DescribedSetting(msgspec.Struct, omit_defaults=True):
    """A setting's description.

    `value` None: it is not set, or `sensitive`. `kind`: 1 bool, 2 text, 3 int, 4 short, 5 long, 6 double, 7 list, 8
    class, 9 password. `synonyms`: all sources of its value, the one in force first.
    """

    name: str
    value: str | None
    source: Int8
    kind: Int8
    read_only: bool = False
    sensitive: bool = False
    synonyms: list[SettingSynonym] = []
    documentation: str | None = None


class DescribedResource(msgspec.Struct, omit_defaults=True):
    """The settings of a resource. `message`: text of the error."""

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
    """`operation`: SET, DELETE, APPEND or SUBTRACT. Only DELETE may have the value None."""

    name: str
    value: str | None
    operation: Int8 = SET


class AlteredResource(msgspec.Struct):
    kind: ResourceKind
    name: ResourceName
    settings: Annotated[list[AlteredSetting], Meta(max_length=SETTINGS_MAX)]


class AlterResult(msgspec.Struct, omit_defaults=True):
    """Result for one resource. `message`: text of the error."""

    kind: ResourceKind
    name: str
    error: ErrorField = 0
    message: str = ""


@register
class AlterConfigsRequest(Message):
    """Replace all settings of a resource by these."""

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
    """Change the named settings of a resource; the others stay (KIP-339)."""

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
