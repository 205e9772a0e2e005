"""IncrementalAlterConfigs and AlterConfigs of topics and brokers at the active controller.

A resource's change is written whole or not at all. With ELR the minimum of the ISR exists for all brokers, is never set
for one, and its change empties the ELRs (KIP-966).

Source: ConfigurationControlManager.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from controller.kraft.cluster_view import ClusterView
from controller.kraft.controller_settings import MIN_ISR, UNCLEAN_ELECTION
from controller.kraft.metadata_image import ALL_BROKERS
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.configuration import (
    APPEND,
    DELETE,
    SET,
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlteredResource,
    AlteredSetting,
    AlterResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from protocol.numbers import number_in
from protocol.records.metadata_records import (
    BROKER_CONFIG,
    TOPIC_CONFIG,
    ClearElrRecord,
    ConfigRecord,
    MetadataRecord,
)

ConfigValidator = Callable[[int, str, Mapping[str, str]], str]
"""Reason why a resource (kind, name) cannot have these settings, "" if it can."""
LISTS: Final = frozenset(
    {"cleanup.policy", "follower.replication.throttled.replicas", "leader.replication.throttled.replicas"}
)
"""Settings to which APPEND and SUBTRACT apply."""


class UnusableConfig(ValueError):
    """A setting that cannot be altered; the message says why."""

    def __init__(self, error: ErrorCode, why: str) -> None:
        super().__init__(why)
        self.error = error


def valid_settings(_kind: int, _name: str, settings: Mapping[str, str]) -> str:
    """The validator without a registry of settings: it checks those that the controller itself reads."""
    number = number_in(settings.get(MIN_ISR, "1"))
    if number is None or number < 1:
        return f"Invalid value {settings[MIN_ISR]} for configuration {MIN_ISR}: Value must be at least 1"
    if settings.get(UNCLEAN_ELECTION, "true").lower() not in ("true", "false"):
        return f"Invalid value {settings[UNCLEAN_ELECTION]} for configuration {UNCLEAN_ELECTION}: not a boolean"
    return ""


def incremental_alter_configs(
    view: ClusterView, validate: ConfigValidator, request: IncrementalAlterConfigsRequest
) -> tuple[list[MetadataRecord], IncrementalAlterConfigsResponse]:
    """Change the named settings of each resource (KIP-339)."""
    records, results = _alter(view, validate, request.resources)
    return [] if request.validate_only else records, IncrementalAlterConfigsResponse(results)


def alter_configs(
    view: ClusterView, validate: ConfigValidator, request: AlterConfigsRequest
) -> tuple[list[MetadataRecord], AlterConfigsResponse]:
    """Replace all settings of each resource."""
    whole = [
        AlteredResource(one.kind, one.name, [*one.settings, *_implicitly_deleted(view, one)])
        for one in request.resources
    ]
    records, results = _alter(view, validate, whole)
    return [] if request.validate_only else records, AlterConfigsResponse(results)


def _implicitly_deleted(view: ClusterView, resource: AlteredResource) -> list[AlteredSetting]:
    named = {setting.name for setting in resource.settings}
    present = view.image.configs.get((resource.kind, resource.name), {})
    return [AlteredSetting(name, None, DELETE) for name in present if name not in named]


def _alter(
    view: ClusterView, validate: ConfigValidator, resources: Sequence[AlteredResource]
) -> tuple[list[MetadataRecord], list[AlterResult]]:
    records: list[MetadataRecord] = []
    results = []
    places = [(one.kind, one.name) for one in resources]
    for one in resources:
        try:
            if places.count((one.kind, one.name)) > 1:
                raise UnusableConfig(ErrorCode.INVALID_REQUEST, "Duplicate config resource in request.")
            _check_resource(view, one.kind, one.name)
            altered = altered_settings(view, validate, one.kind, one.name, one.settings)
        except UnusableConfig as refused:
            results.append(AlterResult(one.kind, one.name, refused.error, str(refused)))
            continue
        results.append(AlterResult(one.kind, one.name))
        records.extend([*altered, *elr_clearings(view, altered)])
    return records, results


def _check_resource(view: ClusterView, kind: int, name: str) -> None:
    if kind == TOPIC_CONFIG:
        if name not in view.image.topics:
            raise UnusableConfig(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    elif kind == BROKER_CONFIG:
        number = number_in(name)
        if name != ALL_BROKERS and (number is None or BrokerId(number) not in view.image.brokers):
            raise UnusableConfig(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No broker with id {name} found.")
    else:
        raise UnusableConfig(ErrorCode.INVALID_REQUEST, f"Unexpected resource type {kind}.")


def altered_settings(
    view: ClusterView, validate: ConfigValidator, kind: int, name: str, settings: Sequence[AlteredSetting]
) -> list[ConfigRecord]:
    """Records of a resource's changed settings; of a broker's also unchanged ones (KAFKA-14136).

    Raises UnusableConfig.
    """
    present = view.image.configs.get((kind, name), {})
    after = dict(present)
    records = []
    for setting in settings:
        value = _altered_value(setting, after.get(setting.name))
        if value is None:
            after.pop(setting.name, None)
        else:
            after[setting.name] = value
        if value != present.get(setting.name) or kind == BROKER_CONFIG:
            records.append(ConfigRecord(kind, name, setting.name, value))
    if view.elr_enabled and kind == BROKER_CONFIG:
        _check_min_isr(name, records)
    if reason := validate(kind, name, after):
        raise UnusableConfig(ErrorCode.INVALID_CONFIG, reason)
    return records


def _altered_value(setting: AlteredSetting, present: str | None) -> str | None:
    """The setting's value after its operation; None: it is removed. Raises UnusableConfig."""
    if setting.operation == DELETE:
        return None
    if setting.value is None:
        raise UnusableConfig(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {setting.name}")
    if setting.operation == SET:
        return setting.value
    if setting.name not in LISTS:
        raise UnusableConfig(ErrorCode.INVALID_CONFIG, f"key {setting.name}: its type is not LIST; use SET")
    parts = [part for part in (present or "").split(",") if part]
    named = setting.value.split(",")
    if setting.operation == APPEND:
        return ",".join([*parts, *(part for part in dict.fromkeys(named) if part not in parts)])
    return ",".join(part for part in parts if part not in named)


def _check_min_isr(name: str, records: Sequence[ConfigRecord]) -> None:
    """With ELR the minimum exists at the level of the cluster alone, and stays there."""
    for record in records:
        if record.setting != MIN_ISR:
            continue
        if name != ALL_BROKERS:
            why = f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
            raise UnusableConfig(ErrorCode.INVALID_CONFIG, why)
        if record.value is None:
            why = f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled."
            raise UnusableConfig(ErrorCode.INVALID_CONFIG, why)


def elr_clearings(view: ClusterView, configs: Sequence[ConfigRecord]) -> list[ClearElrRecord]:
    """Records that empty the ELRs which were populated under another minimum of the ISR."""
    if not view.elr_enabled:
        return []
    changed = [record for record in configs if record.setting == MIN_ISR]
    return [ClearElrRecord(record.name if record.kind == TOPIC_CONFIG else "") for record in changed]
