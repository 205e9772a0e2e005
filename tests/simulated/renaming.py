"""Renamed scenarios, their observations in the old names, and draws independent of names.

The new names are odd on purpose: ids of brokers are large and in another order, one with fewer digits than the next;
names of topics, AZs and hosts sort otherwise than before. Each is found in no other place (numbers that are no ids are
told apart from ids before), so that a trace is brought back by replacing texts.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from math import log
from typing import Any

import msgspec

from emulator.scenario.scenario_model import ANY_PARTITION, Scenario
from emulator.topology import Node, identifier_of
from emulator.worlds.simulated.latencies import CALM, Bounded
from emulator.worlds.simulated.latency_model import Draws
from protocol.chance import Chance
from protocol.machine import TimerKey
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.records.transaction_states import TRANSACTIONS_TOPIC

BROKER_KEYS = frozenset(
    {"broker", "of", "leader", "controller", "seen_by", "assignment", "members", "brokers", "isr", "live_brokers"}
    | {"targets", "not_led_by"}
)
"""Fields of steps, conditions and expectations that hold ids of brokers, or lists of them."""
NODE_KEYS = frozenset(
    {"node", "az", "between", "opened_by", "to", "source", "client", "replicas", "azs", "client.rack"}
)
"""The same for names of nodes and AZs."""
TOPIC_KEYS = frozenset({"topic", "partition", "partitions", "targets", "output"})
"""The same for topics and partitions; `targets` holds both, (partition, replicas) each."""
NEW_IDS = (917, 702, 83)
"""Of up to three brokers: neither in this order nor in that of their digits.
Below those of dedicated controllers.
"""
_OUTPUT = re.compile(r"[^.]+-\d+@\d+")
"""A value that a consume-transform-produce loop writes: the place of its input."""
SHIFTED_MAX = 10
"""More than there are dedicated controllers."""
NEW_IDS_OF_MANY = (917, 702, 813, 283, 611, 409)
"""Of more: no number of a partition is among them."""


class Renaming(msgspec.Struct, frozen=True, dict=True):
    """Old and new names of a scenario.
    `brokers`: {old id: new id}, those of dedicated controllers included. `shift` is added to the numbers of session
    servers, controllers and clients: a vote goes to the highest server id (semantics 5.3), so their order stays.
    `azs`: {old number: new}. `topic` and `value` come before the old ones; Kafka's own topics keep their names.
    """

    brokers: Mapping[int, int] = {}
    shift: int = 0
    azs: Mapping[int, int] = {}
    topic: str = ""
    value: str = ""

    # --- to the new names ---

    def scenario(self, scenario: Scenario) -> Scenario:
        return msgspec.structs.replace(
            scenario,
            topology=msgspec.structs.replace(
                scenario.topology, nodes=tuple(self._node(node) for node in scenario.topology.nodes)
            ),
            settings_by_broker={self._id(broker): own for broker, own in scenario.settings_by_broker.items()},
            steps=self._renamed(scenario.steps, ""),
            expectations=self._renamed(scenario.expectations, ""),
        )

    def _id(self, broker: int) -> int:
        return self.brokers.get(broker, broker)

    def _node(self, node: Node) -> Node:
        name = self.name(node.name)
        number = node.number if name == node.name else int(name.rpartition("-")[2])
        return Node(name, node.roles, number, self.name(node.az))

    def name(self, name: str) -> str:
        """Of a node or an AZ."""
        stem, dash, digits = name.rpartition("-")
        if not dash:
            return name
        number = int(digits)
        if stem == "broker":
            return f"{stem}-{self._id(number)}"
        if stem == "az":
            return f"{stem}-{self.azs.get(number, number)}"
        return f"{stem}-{number + self.shift}"

    def _renamed(self, part: Any, key: str) -> Any:
        if isinstance(part, msgspec.Struct):
            return type(part)(**{name: self._renamed(getattr(part, name), name) for name in part.__struct_fields__})
        if isinstance(part, dict):
            return {name: self._renamed(value, name) for name, value in part.items()}
        if isinstance(part, list | tuple | frozenset):
            renamed = (self._renamed(item, key) for item in part)
            return type(part)(sorted(renamed) if key == "live_brokers" else renamed)
        if key in BROKER_KEYS and isinstance(part, int):
            return self._id(part)  # -1, nobody, stays
        if not isinstance(part, str) or not part:
            return part
        if key in NODE_KEYS:
            return self.name(part)
        if key == "values":
            return (self.topic if _OUTPUT.fullmatch(part) else self.value) + part
        if key in TOPIC_KEYS and part != ANY_PARTITION and not part.startswith((OFFSETS_TOPIC, TRANSACTIONS_TOPIC)):
            return self.topic + part
        return part

    # --- and back ---

    @cached_property
    def _new(self) -> dict[str, str]:
        """{a number in the new names: the old one}"""
        return {str(new): str(old) for old, new in (*self.brokers.items(), *self.azs.items())}

    @cached_property
    def _numbers(self) -> re.Pattern[str]:
        """Numbers of names.
        Not those of operations (`observer.1:83`) or of a workload's values (`steady.client-0.3213.83`).
        """
        return re.compile(rf"(?<!\d[:.])\b({'|'.join(self._new) or '(?!)'})\b")

    def back(self, text: str) -> str:
        """A text of the renamed run in the old names."""
        text = self._numbers.sub(lambda found: self._new[found[0]], text)
        text = text.replace(self.topic, "").replace(self.value, "")
        if not self.shift:
            return text
        shifted = r"\b(session-|controller-|client-|(?:start|stop|kill|pause|resume) controller=|controller\":)(\d+)"
        return re.sub(shifted, self._shifted_back, text)

    def _shifted_back(self, found: re.Match[str]) -> str:
        """A small number is not shifted: it is that of a broker, which is the controller."""
        number = int(found[2])
        is_brokers = found[1] == 'controller":' and number - self.shift not in range(SHIFTED_MAX)
        return f"{found[1]}{number if is_brokers else number - self.shift}"


SAME = Renaming()


def odd(scenario: Scenario, *, ids_in_order: bool = False) -> Renaming:
    """A renaming that keeps no name.
    `ids_in_order`: brokers and AZs keep their order.
    """
    brokers = sorted(node.number for node in scenario.topology.with_role("broker"))
    azs = sorted(int(az.rpartition("-")[2]) for az in scenario.topology.azs)
    assert len(brokers) <= len(NEW_IDS_OF_MANY), "more brokers than new ids"
    ids = (NEW_IDS if len(brokers) <= len(NEW_IDS) else NEW_IDS_OF_MANY)[: len(brokers)]
    numbers = [810_009 - place for place in range(len(azs))]
    if ids_in_order:
        ids, numbers = tuple(sorted(ids)), sorted(numbers)
    shift = 40
    dedicated = [identifier_of(n) for n in scenario.topology.with_role("controller") if "broker" not in n.roles]
    return Renaming(
        brokers=dict(zip(brokers, ids, strict=True)) | {old: old + shift for old in dedicated},
        shift=shift,
        azs=dict(zip(azs, numbers, strict=True)),
        topic="zz.topic_",
        value="v~~",
    )


class DrawsByRole(Draws):
    """A stream of draws per pair of nodes, per node, and per node's timers, by old names.
    The draws of one do not depend on the draws of another.
    """

    __slots__ = ("_back", "_seed", "_streams")

    def __init__(self, seed: int, renaming: Renaming) -> None:
        super().__init__(seed, CALM)
        self._seed = seed
        self._back = renaming.back
        self._streams: dict[tuple[str, ...], Chance] = {}

    def _stream(self, *key: str) -> Chance:
        """The stream of the next draw."""
        stream = self._streams.get(key)
        if stream is None:
            name = f"{self._seed}/{'/'.join(map(self._back, key))}"
            seed = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
            stream = self._streams[key] = Chance(seed)
        self._draw = stream.fraction
        return stream

    def frame_ms(self, sender: str, receiver: str) -> float:
        self._stream("frame", sender, receiver)
        return super().frame_ms(sender, receiver)

    def timer_ms(self, node: str, key: TimerKey) -> float:
        of_channel = key[:2] == ("controller", "channel")
        peer = key[2] if of_channel else key[1] if key[0] == "fetcher" else ""
        self._stream("timer", node, str(key[0]), str(peer))
        return super().timer_ms(node, key)

    def takes_ms(self, node: str, what: Bounded) -> float:
        return self._stream(what, node).between(*getattr(CALM, what))

    def start_extra_ms(self, node: str) -> float:
        return -CALM.start_extra_mean_ms * log(1.0 - self._stream("start-extra", node).fraction())

    def session_start_ms(self, node: str) -> float:
        return CALM.session_start_ms

    def life_seed(self, node: str) -> int:
        return self._stream("life", node).below(1 << 48)

    def links_seed(self, node: str) -> int:
        return self._stream("links", node).below(1 << 32)

    def survives_bytes(self, node: str, synced: int, written: int) -> int:
        return synced + self._stream("survives", node).below(written - synced + 1)
