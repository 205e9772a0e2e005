"""The conditions of `wait`, as words or as keys, and back.

Words: `until: new leader`, `until: t-0 every ISR full`. Keys: `until: {leader: 1}`, `{isr: [0]}`, `{not: {in_isr:
2}}`. Several keys must all hold, as must all of a list: `{all: [new leader, isr shrunk]}`. `partition: t-1` says of
which partition, where it is not the first.
"""

from collections.abc import Callable

from ruamel.yaml.nodes import Node, ScalarNode

from emulator.scenario import conditions as c
from emulator.scenario.document import SECONDS_MAX, nearest, shown
from emulator.scenario.step_reader import Keys, StepReader
from protocol.ids import NO_LEADER, OFFSET_MAX

WORDS: dict[str, Callable[[str], c.Condition]] = {
    "a leader": c.HasLeader,
    "new leader": c.NewLeader,
    "preferred leader": c.PreferredLeader,
    "no leader": lambda partition: c.Leader(NO_LEADER, partition),
    "active controller": lambda _: c.HasController(),
    "new controller": lambda _: c.NewController(),
    "isr shrunk": c.IsrShrunk,
    "isr restored": c.IsrRestored,
    "caught up": c.CaughtUp,
    "session service answers": lambda _: c.SessionServiceAnswers(),
    c.EVERY_ISR_FULL: lambda _: c.Every(c.IsrRestored()),
}
"""Word -> condition of a partition ("" is the first)."""


def _leader(reader: StepReader, node: Node, partition: str) -> c.Condition | None:
    if isinstance(node, ScalarNode) and node.value == "none":
        return c.Leader(NO_LEADER, partition)
    broker = reader.broker(node)
    return None if broker is None else c.Leader(broker, partition)


def _members(reader: StepReader, node: Node) -> frozenset[int]:
    return frozenset(reader.each(node, "brokers", reader.broker, single=True))


def _replicas(reader: StepReader, node: Node, partition: str) -> c.Condition | None:
    members = reader.each(node, "brokers", reader.broker)
    return c.Replicas(members, partition) if members else None


def _in_isr(reader: StepReader, node: Node, partition: str) -> c.Condition | None:
    broker = reader.broker(node)
    return None if broker is None else c.InIsr(broker, partition)


def _controller(reader: StepReader, node: Node, _: str) -> c.Condition | None:
    controller = reader.controller(node)
    return None if controller is None else c.Controller(controller)


def _unfenced(reader: StepReader, node: Node, _: str) -> c.Condition | None:
    broker = reader.broker(node)
    return None if broker is None else c.Unfenced(broker)


def _leads(reader: StepReader, node: Node, partition: str) -> c.Condition | None:
    keys = Keys(reader, node, "a view", ("broker", "seen_by"), ("broker", "seen_by"))
    condition = c.LeadsInView(keys.need("broker", reader.broker), keys.need("seen_by", reader.broker), partition)
    return None if keys.failed else condition


def _knows_leader(reader: StepReader, node: Node, partition: str) -> c.Condition | None:
    broker = reader.broker(node)
    return None if broker is None else c.KnowsLeader(broker, partition)


def _deleted(reader: StepReader, node: Node, _: str) -> c.Condition | None:
    topic = reader.word(node, "topic", reader.topics)
    return None if topic is None else c.Deleted(topic)


def _last_stable_offset(reader: StepReader, node: Node, partition: str) -> c.Condition | None:
    at_least = reader.integer(node, "an offset", 0, OFFSET_MAX)
    return None if at_least is None else c.LastStableOffset(at_least, partition)


def _quiet(reader: StepReader, node: Node, _: str) -> c.Condition | None:
    quiet_s = reader.number(node, "quiet_s", 0, SECONDS_MAX)
    return None if quiet_s is None else c.Quiet(quiet_s)


def _every(reader: StepReader, node: Node, partition: str) -> c.Condition | None:
    inner = read_condition(reader, node)
    return None if inner is None else c.Every(inner)


def _not(reader: StepReader, node: Node, partition: str) -> c.Condition | None:
    inner = read_condition(reader, node, partition)
    return None if inner is None else c.Not(inner)


def _all(reader: StepReader, node: Node, partition: str) -> c.Condition | None:
    items = reader.items(node, "conditions")
    parts = [read_condition(reader, item, partition) for item in items]
    found = tuple(part for part in parts if part is not None)
    if not items or len(found) < len(items):
        return None
    return found[0] if len(found) == 1 else c.AllOf(found)


KEYS: dict[str, Callable[[StepReader, Node, str], c.Condition | None]] = {
    "leader": _leader,
    "isr": lambda r, n, p: c.Isr(_members(r, n), p),
    "replicas": _replicas,
    "in_isr": _in_isr,
    "controller": _controller,
    "registered": lambda r, n, _: c.Registered(_members(r, n)),
    "unfenced": _unfenced,
    "session_expired": lambda r, n, _: c.SessionsExpired(_members(r, n)),
    "leads": _leads,
    "knows_leader": _knows_leader,
    "deleted": _deleted,
    "quiet_s": _quiet,
    "last_stable_offset": _last_stable_offset,
    "not": _not,
    "all": _all,
    "every": _every,
}


def read_condition(reader: StepReader, node: Node, partition: str = "") -> c.Condition | None:
    """Words or keys; None if something is wrong with it."""
    if isinstance(node, ScalarNode):
        word = reader.text(node, "a condition")
        if word is None:
            return None
        if word.lower() not in WORDS:
            return _of_named(reader, node, word)
        return WORDS[word.lower()](partition)
    fields = reader.fields(node, "a condition", (*KEYS, "partition"))
    if "partition" in fields:
        partition = reader.partition(fields.pop("partition")) or ""
    parts = [KEYS[key](reader, value, partition) for key, value in fields.items()]
    found = tuple(part for part in parts if part is not None)
    if not found or len(found) < len(parts):
        if not parts:
            reader.problem(node, f"expected a condition: words ({', '.join(WORDS)}) or keys ({', '.join(KEYS)})")
        return None
    return found[0] if len(found) == 1 else c.AllOf(found)


def _of_named(reader: StepReader, node: Node, word: str) -> c.Condition | None:
    """`t-0 every ISR full`, of one partition, and `t every ISR full`, of all of a topic's."""
    name, _, rest = word.strip().partition(" ")
    if rest.strip().lower() != c.EVERY_ISR_FULL:
        reader.problem(node, f"unknown condition {shown(word)}{nearest(word, (*WORDS, *KEYS))}")
        return None
    if name in reader.partitions:
        return c.IsrRestored(name)
    if name not in reader.topics:
        known = (*reader.topics, *sorted(reader.partitions))
        reader.problem(node, f"unknown topic or partition {shown(name)}{nearest(name, known)}")
        return None
    return c.Every(c.IsrRestored(), name)


def written(condition: c.Condition) -> object:
    """The words or keys that `read_condition` makes the condition of."""
    partition = getattr(condition, "partition", "")
    if not partition:
        return _written(condition)
    inner = _written(condition)
    return {"partition": partition, **inner} if isinstance(inner, dict) else {"partition": partition, "all": [inner]}


def _written(condition: c.Condition) -> str | dict[str, object]:
    match condition:
        case c.Leader(broker=broker):
            return {"leader": "none" if broker == NO_LEADER else broker}
        case c.Isr(members=members):
            return {"isr": sorted(members)}
        case c.Replicas(members=members):
            return {"replicas": list(members)}
        case c.InIsr(broker=broker):
            return {"in_isr": broker}
        case c.Controller(broker=broker):
            return {"controller": broker}
        case c.Registered(brokers=brokers):
            return {"registered": sorted(brokers)}
        case c.Unfenced(broker=broker):
            return {"unfenced": broker}
        case c.SessionsExpired(brokers=brokers):
            return {"session_expired": sorted(brokers)}
        case c.LeadsInView(broker=broker, of=of):
            return {"leads": {"broker": broker, "seen_by": of}}
        case c.KnowsLeader(of=of):
            return {"knows_leader": of}
        case c.Deleted(topic=topic):
            return {"deleted": topic}
        case c.Quiet(quiet_s=quiet_s):
            return {"quiet_s": quiet_s}
        case c.LastStableOffset(at_least=at_least):
            return {"last_stable_offset": at_least}
        case c.Not(condition=inner):
            return {"not": written(inner)}
        case c.Every(condition=inner, topic=""):
            return {"every": written(inner)}
        case c.AllOf(conditions=conditions):
            return {"all": [written(one) for one in conditions]}
        case _:
            return c.described(condition)  # the words are their own names
