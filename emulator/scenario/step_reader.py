"""Reading steps: the reader's knowledge of the cluster, and one step's keys.

A verb's function (see `verbs`) takes `Keys` and makes a step of them. It reads on after an error, so that every
error of a step is found; `Keys.failed` then marks the step as unusable.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import msgspec
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from emulator.faults.link_rule_building import MESSAGE_WORDS, PURPOSE_NAMES, UnknownWord, picked
from emulator.machines.client.client_versions import client_version_named
from emulator.old_names import Renamed, notice, renamed_key, renamed_verb
from emulator.scenario import scenario_model as m
from emulator.scenario.document import SECONDS_MAX, WHOLE_MAX, Reader, kind, nearest, plain, shown
from emulator.scenario.target_reading import read_target
from emulator.settings.setting import BROKER, TOPIC
from emulator.settings.setting_registry import BY_SCOPE, UnusableSetting, found, nearest_setting, usable, usable_value
from emulator.storage.log_directory import directory_names
from emulator.topology import SESSION_SERVICE, Topology, broker_name, identifier_of, is_group, machines_named
from protocol.ids import TOPIC_CHARACTERS_MAX, BrokerId, can_be_topic, topic_partition_of
from protocol.numbers import number_in
from protocol.versions import UnknownVersion

T = TypeVar("T")

VALUES_MAX = 10_000
"""Of one produce, as a client process takes them (`machines.client.direct`)."""
RETRIES_MAX = 10_000
"""Of one value at a named broker; a library's producer has Kafka's own bound."""
ATTEMPTS_MAX = 100_000
"""Of one produce at a named broker."""
GROUP_CHARACTERS_MAX = 255
NAME_CHARACTERS_MAX = 100
"""Of a workload; its clients are called after it."""

AS_SET = "producer.acks"
"""Value of acks that refers to the setting of that name."""


class StepReader(Reader):
    """A reader that knows the nodes of the cluster and the background steps begun so far."""

    def __init__(self) -> None:
        super().__init__()
        self.topology = Topology(())
        self.background: set[str] = set()
        self.partitions: set[str] = set()
        self.workloads: set[str] = set()
        """Those that have begun and not been stopped."""
        self.waits: set[str] = set()
        """Names of the waits so far."""
        self.num_partitions = 1
        """Partitions of a topic whose creation does not set them."""
        self.notices: dict[Renamed, tuple[int, int, str]] = {}
        """{old name: line, column and text of its first use}."""
        self.log_dirs: dict[str, str] = {}
        """{node: its log.dirs}; "": of all others."""

    # --- old names ---

    def rename(self, steps: Node | None) -> None:
        """Give old verbs and keys of steps their names of now; each is noted once."""
        for step in steps.value if isinstance(steps, SequenceNode) else ():
            for key, value in step.value if isinstance(step, MappingNode) else ():
                self._rename(key, renamed_verb("scenario", key.value, plain(value)))
                inner = value.value if isinstance(value, MappingNode) else []
                keys = [one.value for one, _ in inner]
                for one, node in inner:
                    renamed = renamed_key("scenario", key.value, one.value)
                    if renamed is not None and renamed.name not in keys:
                        self._rename(one, renamed, key.value)
                    if (key.value, one.value) == ("repeat", "steps"):
                        self.rename(node)

    def _rename(self, key: ScalarNode, one: Renamed | None, verb: str = "") -> None:
        if one is not None:
            self.notices.setdefault(one, (key.start_mark.line + 1, key.start_mark.column + 1, notice(one, verb)))
            key.value = one.name

    # --- names ---

    def node(self, node: Node) -> str | None:
        """`broker-0`, or 0 for short."""
        return self._name(node, "node", [n.name for n in self.topology.nodes if n.az], "broker-")

    def target(self, node: Node, *, of_brokers: bool = False) -> str | None:
        """A target in canonical form; None: the word is no target."""
        return read_target(self, node, self.topology, self.partitions, of_brokers=of_brokers)

    def broker_or_target(self, node: Node) -> BrokerId | str | None:
        """A broker's number or name, or a target that means a broker."""
        target = self.target(node, of_brokers=True)
        return self.broker(node) if target is None else target

    def machine(self, node: Node, one: Callable[[Node], str | None] | None = None) -> str | None:
        """One machine by its name, or a target. `one`: reads a name; of brokers alone."""
        target = self.target(node, of_brokers=one is not None)
        if target is not None:
            return target
        return one(node) if one is not None else self.node(node)

    def machines(
        self, node: Node, one: Callable[[Node], str | None] | None = None, with_logs: bool = False
    ) -> tuple[str, ...] | None:
        """Machines by name, number, AZ, pattern (`broker-*`) or target, or a list; each once.

        `one`: reads a single name; `with_logs`: only brokers of an AZ and of a pattern."""
        if isinstance(node, ScalarNode):
            return self._machines(node, one, with_logs)
        lists = self.each(node, "machines", lambda n: self._machines(n, one, with_logs))
        if isinstance(node, SequenceNode) and not node.value:
            self.problem(node, "which machines? the list is empty")
        return tuple(dict.fromkeys(name for names in lists for name in names)) or None

    def _machines(
        self, node: Node, one: Callable[[Node], str | None] | None, with_logs: bool
    ) -> tuple[str, ...] | None:
        word = plain(node)
        if not isinstance(word, str) or not is_group(self.topology, word):
            name = self.machine(node, one)
            return None if name is None else (name,)
        names = [n.name for n in machines_named(self.topology, word) if not with_logs or "broker" in n.roles]
        if not names:
            self.problem(node, f"{shown(word)} means no {'broker' if with_logs else 'machine'}")
        return tuple(names) or None

    def broker(self, node: Node) -> BrokerId | None:
        """0, or `broker-0` in full."""
        known = [n.name for n in self.topology.with_role("broker")]
        name = self._name(node, "broker", known, "broker-")
        return None if name is None else identifier_of(self.topology.node(name))

    def broker_node(self, node: Node) -> str | None:
        """The same in full, `broker-0`."""
        number = self.broker(node)
        return None if number is None else broker_name(number)

    def log_directory(self, node: Node, of: str | None) -> str | None:
        """One of a node's log.dirs."""
        names = directory_names(self.log_dirs.get(of or "", self.log_dirs.get("", "")))
        if of is not None and of not in [broker.name for broker in self.topology.with_role("broker")]:
            self.problem(node, f"{of} is no broker: it has no log directories")
            return None
        if of is not None and not names:
            self.problem(node, f"{of} has one log directory, its disk; for more: log.dirs, as d0,d1")
            return None
        return self.word(node, "log directory", names)

    def controller(self, node: Node) -> BrokerId | None:
        """Id of a possible controller: a broker's number or name, `controller-0` or its id."""
        known = {identifier_of(n): n.name for n in self.topology.with_role("controller")}
        given = plain(node)
        if isinstance(given, int) and given in known:
            return BrokerId(given)
        name = self._name(node, "controller", list(known.values()), "broker-")
        return None if name is None else identifier_of(self.topology.node(name))

    def az(self, node: Node) -> str | None:
        """`az-0`, or 0 for short."""
        return self._name(node, "AZ", self.topology.azs, "az-")

    def end(self, node: Node, what: str = "node or AZ") -> str | None:
        """One end of a link: a node, a target, a whole AZ, or all session servers."""
        target = self.target(node)
        if target is not None:
            return target
        known = [*(n.name for n in self.topology.nodes if n.az), *self.topology.azs, SESSION_SERVICE]
        return self._name(node, what, known, "broker-")

    def client(self, node: Node) -> str | None:
        """`client-1`, or its AZ."""
        clients = self.topology.with_role("client")
        az_clients = {c.az: c.name for c in reversed(clients)}
        given = self.word(node, "client or AZ", [*(c.name for c in clients), *az_clients])
        return None if given is None else az_clients.get(given, given)

    def client_version(self, node: Node) -> str | None:
        """Of Kafka's Java client; a number is taken as it is written."""
        if not isinstance(node, ScalarNode):
            self.problem(node, f"expected a client's version, such as '3.9', got {kind(node)}")
            return None
        try:
            return client_version_named(node.value)
        except UnknownVersion as unknown:
            self.problem(node, str(unknown))
            return None

    def partition(self, node: Node) -> str | None:
        """`t-1`, of a topic that was created before."""
        return self.word(node, "partition", sorted(self.partitions))

    @property
    def topics(self) -> list[str]:
        """Those that were created before, by their partitions."""
        return sorted(
            {
                topic_partition[0]
                for topic_partition in map(topic_partition_of, self.partitions)
                if topic_partition is not None
            }
        )

    def _name(self, node: Node, what: str, known: list[str] | tuple[str, ...], prefix: str) -> str | None:
        given = self.text(node, what)
        if given is None:
            return None
        name = f"{prefix}{given}" if number_in(given) is not None else given
        if name not in known:
            self.problem(node, f"unknown {what} {shown(given)}{nearest(name, known)}")
            return None
        return name

    # --- values ---

    def value(self, node: Node) -> str | None:
        return self.text(node, "a value")

    def label(self, node: Node) -> str | None:
        return self.text(node, "a name")

    def workload_name(self, node: Node) -> str | None:
        return self.bounded_text(node, "a workload's name", 1, NAME_CHARACTERS_MAX)

    def transactional_id(self, node: Node) -> str | None:
        return self.bounded_text(node, "a transactional id", 1, NAME_CHARACTERS_MAX)

    def group(self, node: Node) -> str | None:
        """A consumer group's id."""
        return self.bounded_text(node, "a group's name", 1, GROUP_CHARACTERS_MAX)

    def values(self, node: Node) -> tuple[str, ...] | None:
        """Those of one produce; a single one may stand without brackets."""
        count = len(node.value) if isinstance(node, SequenceNode) else 1
        if not 1 <= count <= VALUES_MAX:
            self.problem(node, f"a produce has 1 to {VALUES_MAX} values, got {count}")
            return None
        return self.each(node, "values", self.value, single=True)

    def topic_name(self, node: Node) -> str | None:
        """One that a topic can have."""
        given = self.text(node, "a topic's name")
        if given is not None and not can_be_topic(given):
            what = f"letters, digits, '.', '_' and '-', at most {TOPIC_CHARACTERS_MAX}"
            self.problem(node, f"a topic's name is of {what}, got {shown(given)}")
            return None
        return given

    def acks(self, node: Node) -> int | None:
        given = self.word(node, "acks", ("all", "-1", "0", "1"))
        return None if given is None else m.ALL_ACKS if given == "all" else int(given)

    def acks_to_send(self, node: Node) -> int | None:
        """As `acks`, or the setting's value."""
        return m.ACKS_AS_SET if plain(node) == AS_SET else self.acks(node)

    def assignment(self, node: Node) -> tuple[tuple[BrokerId, ...], ...] | None:
        """[0, 1, 2], or one such list for each partition."""
        lists = self.items(node, "brokers")
        if not lists:
            return None
        if all(isinstance(item, ScalarNode) for item in lists):
            return (self._replicas(node),)
        return tuple(self._replicas(item) for item in lists)

    def _replicas(self, node: Node) -> tuple[BrokerId, ...]:
        replicas = self.each(node, "brokers", self.broker)
        if len(set(replicas)) < len(replicas):
            self.problem(node, f"a broker can hold one replica of a partition: {list(replicas)}")
        return replicas

    def topic_configs(self, node: Node) -> dict[str, object]:
        return self.settings_of(TOPIC, node, "topic settings")

    def settings_of(self, scope: str, node: Node, what: str) -> dict[str, object]:
        """Settings of one kind, by Kafka's own names: {name: value as the setting's type}."""
        read: dict[str, object] = {}
        for name, key, value in self.pairs(node, what):
            setting = BY_SCOPE[scope].get(name)
            if setting is None:
                self.problem(key, f"not a {scope}'s setting: {shown(name)}{nearest(name, BY_SCOPE[scope])}")
                continue
            try:
                read[name] = usable_value(setting, plain(value))
            except UnusableSetting as error:
                self.problem(value, str(error))
        return read

    def setting(self, name: str, key: Node, value: Node, version: str | None = None) -> dict[str, object]:
        """{name with its kind: value as the setting's type}; nothing if it cannot be used."""
        setting = found(name)
        if setting is None:
            self.problem(key, f"unknown setting {shown(name)}{nearest_setting(name)}")
            return {}
        try:
            return {setting.key: usable(name, plain(value), version)}
        except UnusableSetting as error:
            self.problem(value, str(error))
            return {}

    def brokers_setting(self, name: str, key: Node, value: Node) -> dict[str, object]:
        """As `setting`, for one broker."""
        setting = found(name)
        if setting is not None and setting.scope != BROKER:
            self.problem(key, f"{setting.key} is not one broker's")
            return {}
        return self.setting(name, key, value)

    def restart_settings(self, node: Node) -> dict[str, object]:
        """Settings of a broker that starts; null: remove."""
        read: dict[str, object] = {}
        for name, key, value in self.pairs(node, "settings"):
            if plain(value) is None and name in BY_SCOPE[BROKER]:
                read[name] = None
            else:
                read.update(self.brokers_setting(name, key, value))
        return read

    def links_of(self, keys: "Keys", node: Node) -> m.Links | None:
        """Links by one of the key sets."""
        given = [name for name in LINK_KEYS if name in keys]
        if given == ["az"]:
            return m.AzLinks(keys.need("az", self.az))
        if given == ["link"]:
            ends = keys.need("link", lambda n: self.each(n, "two ends", self.end)) or ()
            if len(ends) == 2:
                return m.PairLinks((ends[0], ends[1]))
            if not isinstance(keys.nodes["link"], SequenceNode) or len(keys.nodes["link"].value) != 2:
                self.problem(keys.nodes["link"], "a link has two ends: [broker-0, broker-1]")
        elif given == ["opened_by", "to"]:
            return m.OpenedLinks(keys.need("opened_by", self.end), keys.need("to", self.end))
        elif given == ["from", "to"]:
            return m.OneWayLinks(keys.need("from", self.end), keys.need("to", self.end))
        elif isinstance(node, MappingNode):
            self.problem(node, "which links? one of: az, link, opened_by with to, from with to")
        keys.failed = True
        return None

    def only(self, node: Node) -> tuple[str, ...]:
        """Words as the command line's `--only` takes them."""

        def one(item: Node) -> str | None:
            word = self.text(item, "a purpose or message type")
            try:
                picked([word] if word is not None else [])
            except UnknownWord:
                near = nearest(word or "", (*PURPOSE_NAMES, *MESSAGE_WORDS))
                self.problem(item, f"unknown purpose or message type {shown(word)}{near}")
                return None
            return word

        return self.each(node, "purposes or message types", one, single=True)


LINK_KEYS = ("az", "link", "opened_by", "from", "to")


class Keys:
    """One step's keys. `need` and `get` record errors, and `failed` that there was one."""

    def __init__(
        self, reader: StepReader, node: Node, what: str, known: tuple[str, ...], required: tuple[str, ...] = (),
        short: str = "",
    ) -> None:  # fmt: skip
        self.reader = reader
        self.node = node
        before = len(reader.problems)
        if isinstance(node, MappingNode):
            self.nodes = reader.fields(node, what, known, required)
        elif short and kind(node) != "nothing":
            self.nodes = {short: node}
            reader_missing = [key for key in required if key != short]
            if reader_missing:
                reader.problem(node, f"{what} needs {', '.join(repr(key) for key in reader_missing)}")
        else:
            self.nodes = {}
            if required or kind(node) != "nothing":
                reader.problem(node, f"expected {what} with keys {', '.join(known)}, got {kind(node)}")
        self.failed = len(reader.problems) > before

    def __contains__(self, key: str) -> bool:
        return key in self.nodes

    def need(self, key: str, read: Callable[[Node], T | None]) -> T:
        """A required key's value.

        If it is missing or unusable the result is None, and `failed` set: the step is then dropped.
        """
        value = read(self.nodes[key]) if key in self.nodes else None
        self.failed = self.failed or value is None
        return cast(T, value)

    def get(self, key: str, read: Callable[[Node], T | None], default: T) -> T:
        """An optional key's value."""
        return self.need(key, read) if key in self.nodes else default

    def whole(
        self, key: str, what: str, default: int | None = None, low: int = 0, high: int = WHOLE_MAX
    ) -> int:  # fmt: skip
        if default is None:
            return self.need(key, lambda n: self.reader.integer(n, what, low, high))
        return self.get(key, lambda n: self.reader.integer(n, what, low, high), default)

    def seconds(self, key: str, default: float | None = None) -> float:
        def read(node: Node) -> float | None:
            return self.reader.number(node, "seconds" if key == "s" else key, 0.0, SECONDS_MAX)

        return self.need(key, read) if default is None else self.get(key, read, default)

    def broker(self) -> BrokerId | str:
        """A broker's number, or a target in canonical form."""
        return self.need("broker", self.reader.broker_or_target)  # type: ignore[return-value]

    def partition(self) -> str | None:
        return self.need("partition", self.reader.partition) if "partition" in self.nodes else None


Steps = list[m.AnyStep]


class Verb(msgspec.Struct, frozen=True, kw_only=True):
    """`does`: one line for the documentation. `read` makes the steps (one, save for `record`)."""

    does: str
    read: Callable[[Keys, float | None], Steps]
    keys: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    short: str = ""
