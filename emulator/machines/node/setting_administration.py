"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, at any broker.

Kafka's AdminManager; semantics 7. emulator/settings/described.py makes descriptions, emulator/settings/altered.py
validates changes. A topic's described settings are those in ZooKeeper, not those that its logs have. The broker
writes a change as Kafka's tools do: the whole configuration, then a notification to every broker.
"""

from collections.abc import Mapping

from controller.session_calls import Procedure, Procedures, perform
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.dynamic_settings import DynamicSettings
from emulator.machines.broker.request_channel import Request
from emulator.machines.broker.settings import HANDLERS, can_resize
from emulator.machines.node.administration_work import AdministrationWork
from emulator.machines.node.log_levels import LogLevels
from emulator.settings.altered import Change, Unalterable, Where, changed, replaced
from emulator.settings.described import (
    BrokersSettings,
    Described,
    describe_broker,
    describe_every_broker,
    describe_topic,
)
from emulator.settings.setting import BROKER, TOPIC, Value
from protocol.errors import ErrorCode
from protocol.ids import can_be_topic
from protocol.messages.configuration import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlteredResource,
    AlterResult,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribedResource,
    DescribedResourceName,
    DescribedSetting,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    SettingSynonym,
)
from protocol.messages.session_messages import Create, Exists, GetData, SessionError, SetData
from protocol.numbers import number_in
from protocol.znodes import (
    BROKERS_CHANGED,
    CONFIG_CHANGE_PREFIX,
    CONFIG_CHANGES,
    EVERY_BROKER,
    TOPICS_CHANGED,
    UnreadableZnode,
    broker_config_path,
    decode_config,
    encode_config,
    encode_config_change,
    topic_config_path,
    topic_path,
)

RESOURCES = {TOPIC_RESOURCE: "TOPIC", BROKER_RESOURCE: "BROKER", BROKER_LOGGER_RESOURCE: "BROKER_LOGGER"}


class SettingAdministration:
    """Handler of config requests. `file`: the broker's server.properties, by Kafka's names."""

    def __init__(
        self,
        context: BrokerContext,
        metadata: MetadataCache,
        dynamic: DynamicSettings,
        file: Mapping[str, Value],
        procedures: Procedures,
    ) -> None:
        self._context = context
        self._gates = context.gates
        self._metadata = metadata
        self._dynamic = dynamic
        self._file = file
        self._log_levels = LogLevels(context.broker)
        self._work = AdministrationWork("setting-administration", context, metadata, procedures)

    # --- describe ---

    def of_new_topic(self, own: Mapping[str, str]) -> list[DescribedSetting]:
        """Describe the settings of a new topic. `own`: its own ones."""
        return [_setting(about, synonyms=False, documentation=False) for about in describe_topic(self._brokers(), own)]

    def describe(self, request: Request) -> None:
        """Handle DescribeConfigs."""
        body = request.message
        assert isinstance(body, DescribeConfigsRequest), body
        self._work.begin(
            self._described(body),
            lambda resources: request.answer(DescribeConfigsResponse(resources)),
            lambda: [DescribedResource(one.kind, one.name, ErrorCode.REQUEST_TIMED_OUT) for one in body.resources],
        )

    def _described(self, body: DescribeConfigsRequest) -> Procedure[list[DescribedResource]]:
        resources: list[DescribedResource] = []
        for one in body.resources:
            try:
                if one.kind == BROKER_LOGGER_RESOURCE and self._gates.broker_loggers:
                    resources.append(DescribedResource(one.kind, one.name, settings=self._loggers(one)))
                    continue
                found = yield from self._found(one)
            except Unalterable as refused:
                resources.append(DescribedResource(one.kind, one.name, refused.error, str(refused)))
                continue
            every = one.names is None or (not one.names and self._gates.no_names_mean_all_settings)
            described = [
                _setting(about, synonyms=body.synonyms, documentation=body.documentation)
                for about in found
                if every or about.setting.name in (one.names or ())
            ]
            resources.append(DescribedResource(one.kind, one.name, settings=described))
        return resources

    def _loggers(self, body: DescribedResourceName) -> list[DescribedSetting]:
        """Describe the loggers. Raises Unalterable."""
        if not body.name:
            raise Unalterable(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        self._is_this_broker(body.name)
        every = body.names is None or (not body.names and self._gates.no_names_mean_all_settings)
        return self._log_levels.described(None if every else body.names)

    def _found(self, body: DescribedResourceName) -> Procedure[list[Described]]:
        """Describe the settings of a topic or broker. Raises Unalterable."""
        if body.kind == TOPIC_RESOURCE:
            if not can_be_topic(body.name):
                raise Unalterable(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic name is invalid.")
            if self._gates.unknown_topics_have_no_settings and not self._metadata.partition_count(body.name):
                raise Unalterable(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
            own = yield from self._topic_settings(body.name)
            return list(describe_topic(self._brokers(), own or {}))
        if body.kind != BROKER_RESOURCE:
            raise _unsupported(body.kind, "Unsupported resource type: {}")
        if not self._is_this_broker(body.name, " or empty string"):
            return list(describe_every_broker(self._brokers()))
        return list(describe_broker(self._brokers()))

    def _topic_settings(self, topic: str) -> Procedure[Mapping[str, str] | None]:
        """A topic's own settings."""
        return (yield from self._given_at(topic_config_path(topic)))

    def _brokers(self) -> BrokersSettings:
        given = self._dynamic.given
        return BrokersSettings(
            self._gates.binary,
            self._gates.settings_change_while_running,
            self._gates.altered_by_synonym,
            self._file,
            given[str(self._context.broker)],
            given[EVERY_BROKER],
        )

    def _is_this_broker(self, name: str, other: str = "") -> bool:
        """Whether a name is this broker's; False: it means all brokers. Raises Unalterable."""
        if not name and self._gates.settings_change_while_running:
            return False
        if number_in(name.removeprefix("-")) is None:
            raise Unalterable(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
        here = self._context.broker
        if int(name) != here:
            why = f"Unexpected broker id, expected {here}{other}, but received {name}"
            raise Unalterable(ErrorCode.INVALID_REQUEST, why)
        return True

    # --- alter ---

    def alter(self, request: Request) -> None:
        """Handle AlterConfigs or IncrementalAlterConfigs."""
        body = request.message
        assert isinstance(body, AlterConfigsRequest | IncrementalAlterConfigsRequest), body
        single = isinstance(body, IncrementalAlterConfigsRequest)
        response = IncrementalAlterConfigsResponse if single else AlterConfigsResponse

        self._work.begin(
            self._altered(body.resources, single=single, validate_only=body.validate_only),
            lambda results: request.answer(response(results)),
            lambda: [AlterResult(one.kind, one.name, ErrorCode.REQUEST_TIMED_OUT) for one in body.resources],
        )

    def _altered(
        self, resources: list[AlteredResource], *, single: bool, validate_only: bool
    ) -> Procedure[list[AlterResult]]:
        results: list[AlterResult] = []
        for one in resources:
            try:
                yield from self._alter_one(one, single=single, validate_only=validate_only)
                results.append(AlterResult(one.kind, one.name))
            except Unalterable as refused:
                results.append(AlterResult(one.kind, one.name, refused.error, str(refused)))
        return results

    def _alter_one(self, body: AlteredResource, *, single: bool, validate_only: bool) -> Procedure[None]:
        """Alter one resource. Raises Unalterable."""
        gates = self._gates
        if body.kind == BROKER_LOGGER_RESOURCE and single and gates.broker_loggers:
            self._is_this_broker(body.name)
            changes = [Change(one.name, one.value, one.operation) for one in body.settings]
            self._log_levels.alter(changes, validate_only=validate_only)
            return
        if body.kind == TOPIC_RESOURCE:
            yield from self._check_topic(body.name)
            scope, kind, whose, every = TOPIC, TOPICS_CHANGED, body.name, False
            path = topic_config_path(body.name)
        elif body.kind == BROKER_RESOURCE and gates.settings_change_while_running:
            every = not self._is_this_broker(body.name)
            scope, kind, whose = BROKER, BROKERS_CHANGED, EVERY_BROKER if every else str(self._context.broker)
            path = broker_config_path(whose)
        else:
            which = "topics and brokers" if gates.settings_change_while_running else "topics"
            raise _unsupported(body.kind, f"AlterConfigs is only supported for {which}, but resource type is {{}}")
        where = Where(gates.binary, scope, self._file, every, gates.names_settings_without_value)
        given = yield from self._given_at(path)
        if single:
            after = changed(where, given or {}, [Change(one.name, one.value, one.operation) for one in body.settings])
        else:
            after = replaced(where, {one.name: one.value for one in body.settings})
        if scope == BROKER:
            self._check_handlers(after, every=every)
        if validate_only:
            return
        content = encode_config(after)
        yield from perform(Create(path, content) if given is None else SetData(path, content))
        notification = encode_config_change(whose, gates.config_change_form, kind)
        yield from perform(Create(f"{CONFIG_CHANGES}/{CONFIG_CHANGE_PREFIX}", notification, sequential=True))

    def _check_topic(self, topic: str) -> Procedure[None]:
        """Validate a topic. Raises Unalterable."""
        looked_for = self._gates.altered_topics_are_looked_for
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if looked_for else ErrorCode.UNKNOWN_SERVER_ERROR
        missing = Unalterable(error, f"The topic '{topic}' does not exist.")
        if looked_for and not self._metadata.partition_count(topic):
            raise missing
        if not can_be_topic(topic):
            raise Unalterable(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic name is invalid.")
        if (yield from perform(Exists(topic_path(topic)))).error != SessionError.OK:
            raise missing

    def _check_handlers(self, after: Mapping[str, str], *, every: bool) -> None:
        """Validate a number of handlers (DynamicThreadPool.validateReconfiguration)."""
        given = self._dynamic.given
        layers = (given[EVERY_BROKER], after) if not every else (after, given[str(self._context.broker)])
        threads = self._context.settings.num_io_threads
        wanted = next((layer[HANDLERS] for layer in reversed(layers) if HANDLERS in layer), self._dynamic.file_handlers)
        if not can_resize(threads, int(wanted)):
            why = f"value should be at least half and at most twice the current value {threads}"
            message = f"Dynamic thread count update validation failed for {HANDLERS}={wanted}, {why}"
            raise Unalterable(ErrorCode.INVALID_REQUEST, message)

    def _given_at(self, path: str) -> Procedure[dict[str, str] | None]:
        """Own settings at a path; None: there were never any."""
        found = yield from perform(GetData(path))
        if found.error != SessionError.OK:
            return None
        try:
            return decode_config(path, found.data)
        except UnreadableZnode as error:
            raise Unalterable(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from error


def _unsupported(kind: int, why: str) -> Unalterable:
    return Unalterable(ErrorCode.INVALID_REQUEST, why.format(RESOURCES.get(kind, "UNKNOWN")))


def _setting(about: Described, *, synonyms: bool, documentation: bool) -> DescribedSetting:
    return DescribedSetting(
        about.setting.name,
        about.value,
        about.source,
        about.kind,
        about.read_only,
        about.sensitive,
        [SettingSynonym(one.name, one.value, one.source) for one in about.synonyms] if synonyms else [],
        about.documentation if documentation else None,
    )
