"""A scenario's expectations, expected violations and exits, and races, read from its file.

One expectation has a `text` for people, and one subject with its expected values:

    attempts:   {broker, values, acks, error, offsets, tries}   of each value's last attempt
    transaction: {transactional_id, number, nth, end, error}    how that transaction of a produce ended
    fetch:      {broker, nth, error, high_watermark, values}
    consume:    {group, partition, nth, committed, resets, values, position, error, commit}
    commit:     {group, partition, nth, offset, error}
    committed:  {group, partition, nth, offset, leader_epoch, error}
    workload:   {name, azs, count, at_least, at_most}           of its producers and consumers, in these AZs or in all
    metadata:   {broker, nth, leader, leader_epoch, isr, controller, live_brokers, error}
    list_offsets: {broker, partition, nth, earliest, latest, leader_epoch, error}
    wait:       {called, nth, held}                             whether that wait was reached
    admin:      {verb, topic, nth, error}                       how a command that may fail ended
    snapshot:   {label, replicas, partition, values, epochs, high_watermark}   every replica named has this on disk
    state:      {partition, nth, leader, leader_epoch, isr, controller_epoch, zk_version; in KRaft partition_epoch,
                elr, last_known_elr, recovering}
    controller: {nth, controller, epoch}
    quorum:     {controller, nth, leads, epoch_at_least, epoch_at_most}   its answer to describe-quorum, in KRaft
    partitions: {nth, partitions, led, preferred, in_sync, azs, not_led_by, leaders_apart, replicas_apart}
    isr_changes: {broker, change, at_least, at_most}            how often the broker asked for one, shrink or expand
    check:      {name, verdict, count}
    measure:    {name, at_least, at_most}

`nth` counts from 1; without it, the last.
"""

from collections.abc import Callable
from typing import Any

from ruamel.yaml.nodes import MappingNode, Node

from emulator.check_table import CHECKS
from emulator.scenario import scenario_model as m
from emulator.scenario.document import nearest, plain, shown
from emulator.scenario.observations.races import MAX_RACES, SECTIONS, Addition, Race, Substitution
from emulator.scenario.step_reader import StepReader
from protocol.errors import ErrorCode
from protocol.versions import UnknownVersion, ladder_name

OF_TRANSACTIONS = (
    "ProducerFencedException", "InvalidProducerEpochException", "TransactionAbortedException",
    "TransactionAbortableException", "InvalidTxnStateException", "InvalidPidMappingException",
    "InvalidTxnTimeoutException", "OutOfOrderSequenceException", "UnknownProducerIdException",
    "FencedInstanceIdException", "TransactionalIdAuthorizationException",
)  # fmt: skip
"""Exceptions of transactional producers."""

EXCEPTIONS = (
    "TimeoutError", "ConnectionRefusedError", "ConnectionResetError", "ConnectionError", "OSError",
    "TimeoutException", "NetworkException", "DisconnectException", "KafkaException", "CommitFailedException",
    "RebalanceInProgressException", "ZkInterruptedException", "NoOffsetForPartitionException",
    "OffsetOutOfRangeException", "LogTruncationException", "MessageSizeTooLargeException", "InvalidMessageException",
    "IllegalStateException", "TopicAlreadyMarkedForDeletionException", *OF_TRANSACTIONS,
)  # fmt: skip
"""Exception names used instead of an error code.

First those of a client without retries, then those of Kafka's clients and admin tools. A produce or commit that a
client retried until its time limit ends with TimeoutException.
"""
RESETS = ("OffsetOutOfRangeException", "LogTruncationException")
"""Exceptions that change a consumer's position."""
NOTHING = "none"
"""In the place of an offset: nothing is committed."""

COUNTS = (
    "sent", "ok", "failed", "unknown", "skipped", "read", "rebalances", "lost", "refused", "committed", "aborted",
)  # fmt: skip
"""Of a workload.

From `rebalances` on of members of a group, from `committed` on of transactions.
"""

ADMIN_VERBS = tuple(step.VERB for step in m.AdminStep.__subclasses__())

ReadValue = Callable[[StepReader, Node], Any]


def _whole(reader: StepReader, node: Node) -> int | None:
    return reader.integer(node, "a value", low=-1)


def _nth(reader: StepReader, node: Node) -> int | None:
    return reader.integer(node, "nth", low=1)


def _brokers(reader: StepReader, node: Node) -> list[int]:
    return list(reader.each(node, "brokers", reader.broker, single=True))


def _leader(reader: StepReader, node: Node) -> int | None:
    return -1 if plain(node) in ("none", -1) else reader.broker(node)


def _replicas(reader: StepReader, node: Node) -> list[str] | None:
    if plain(node) == "all":
        return [n.name for n in reader.topology.with_role("broker")]
    return [f"broker-{broker}" for broker in _brokers(reader, node)]


def _values(reader: StepReader, node: Node) -> list[str]:
    return list(reader.each(node, "values", reader.value))


def _offsets(reader: StepReader, node: Node) -> list[int]:
    return list(reader.each(node, "offsets", lambda n: reader.integer(n, "offset", low=-1), single=True))


def _epochs(reader: StepReader, node: Node) -> list[list[int]] | None:
    found = plain(node)
    pairs = isinstance(found, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(number) is int for number in pair) for pair in found
    )
    if not pairs:
        reader.problem(node, "expected epochs as a list of [leader epoch, start offset]")
        return None
    return list(found)


def _error(reader: StepReader, node: Node) -> int | str | None:
    """A code, its name (`NOT_LEADER_OR_FOLLOWER`), or an exception's name."""
    given = plain(node)
    if type(given) is int:
        return reader.integer(node, "error", low=-1)
    names = {**{code.name: code.value for code in ErrorCode}, **{name: name for name in EXCEPTIONS}}
    word = reader.word(node, "error", names)
    return None if word is None else names[word]


def _offset_or_none(reader: StepReader, node: Node) -> int | str | None:
    """`none`: nothing is committed."""
    return NOTHING if plain(node) == "none" else reader.integer(node, "offset", low=0)


def _resets(reader: StepReader, node: Node) -> list[str]:
    return list(reader.each(node, "resets", lambda n: reader.word(n, "reset", RESETS), single=True))


def _check_name(reader: StepReader, node: Node) -> str | None:
    return reader.word(node, "check", tuple(CHECKS))


def _checkpointed(reader: StepReader, node: Node) -> int | str | None:
    """An offset, or `none`: no checkpoint names the partition."""
    return "none" if plain(node) == "none" else reader.integer(node, "a high watermark", low=0)


def _text(reader: StepReader, node: Node) -> str | None:
    return reader.text(node)


def _number(reader: StepReader, node: Node) -> float | None:
    return reader.number(node, "a bound")


SUBJECTS: dict[str, dict[str, ReadValue]] = {
    "attempts": {
        "broker": lambda r, n: r.broker(n), "values": _values, "acks": lambda r, n: r.acks(n), "error": _error,
        "offsets": _offsets, "tries": _nth,
    },
    "transaction": {
        "transactional_id": _text, "number": _nth, "nth": _nth,
        "end": lambda r, n: r.word(n, "end", ("commit", "abort", "open")), "error": _error,
    },
    "fetch": {
        "broker": lambda r, n: r.broker(n), "nth": _nth, "error": _error, "high_watermark": _whole, "values": _values,
    },
    "consume": {
        "group": _text, "partition": lambda r, n: r.partition(n), "nth": _nth, "committed": _offset_or_none,
        "resets": _resets, "values": _values, "position": _whole, "error": _text, "commit": _error,
    },
    "commit": {
        "group": _text, "partition": lambda r, n: r.partition(n), "nth": _nth, "offset": _whole,
        "error": _error,
    },
    "committed": {
        "group": _text, "partition": lambda r, n: r.partition(n), "nth": _nth, "offset": _offset_or_none,
        "leader_epoch": _whole, "error": _error,
    },
    "workload": {
        "name": _text, "azs": lambda r, n: list(r.each(n, "AZs", r.az, single=True)),
        "count": lambda r, n: r.word(n, "count", COUNTS), "at_least": _whole, "at_most": _whole,
    },
    "metadata": {
        "broker": lambda r, n: r.broker(n), "nth": _nth, "leader": _leader, "leader_epoch": _whole, "isr": _brokers,
        "controller": lambda r, n: r.controller(n), "live_brokers": _brokers, "error": _error,
    },
    "list_offsets": {
        "broker": lambda r, n: r.broker(n), "partition": lambda r, n: r.partition(n), "nth": _nth, "earliest": _whole,
        "latest": _whole, "leader_epoch": _whole, "error": _error,
    },
    "wait": {
        "called": lambda r, n: r.word(n, "wait", sorted(r.waits)), "nth": _nth,
        "held": lambda r, n: r.truth(n, "held"),
    },
    "admin": {
        "verb": lambda r, n: r.word(n, "verb", ADMIN_VERBS), "topic": _text, "nth": _nth, "error": _error,
    },
    "snapshot": {
        "label": _text, "replicas": _replicas, "partition": lambda r, n: r.partition(n), "values": _values,
        "epochs": _epochs, "high_watermark": _checkpointed,
    },
    "state": {
        "partition": lambda r, n: r.partition(n), "nth": _nth, "leader": _leader, "leader_epoch": _whole,
        "isr": _brokers, "controller_epoch": _whole, "zk_version": _whole, "partition_epoch": _whole,
        "elr": _brokers, "last_known_elr": _brokers, "recovering": lambda r, n: r.truth(n, "recovering"),
    },
    "quorum": {
        "controller": lambda r, n: r.integer(n, "controller", low=0), "nth": _nth,
        "leads": lambda r, n: r.truth(n, "leads"), "epoch_at_least": _whole, "epoch_at_most": _whole,
    },
    "controller": {"nth": _nth, "controller": lambda r, n: r.controller(n), "epoch": _whole},
    "partitions": {
        "nth": _nth, "partitions": _whole, "led": _whole, "preferred": _whole, "in_sync": _whole, "azs": _whole,
        "not_led_by": _brokers, "leaders_apart": _whole, "replicas_apart": _whole,
    },
    "isr_changes": {
        "broker": lambda r, n: r.broker(n), "change": lambda r, n: r.word(n, "change", ("shrink", "expand")),
        "at_least": _whole, "at_most": _whole,
    },
    "check": {
        "name": _check_name, "verdict": lambda r, n: r.word(n, "verdict", ("held", "violated")), "count": _whole,
    },
    "measure": {"name": _text, "at_least": _number, "at_most": _number},
}  # fmt: skip
"""Subject -> its keys and how each is read."""

REQUIRED = {
    "attempts": ("values",), "transaction": ("transactional_id",),
    "fetch": ("broker",), "consume": ("group",), "commit": ("group",),
    "committed": ("group",), "workload": ("name", "count"), "metadata": ("broker",), "list_offsets": ("broker",),
    "wait": ("called",), "admin": ("verb",),
    "snapshot": ("label", "replicas"),
    "isr_changes": ("broker", "change"), "check": ("name", "verdict"), "measure": ("name",),
}  # fmt: skip


def read_expectations(reader: StepReader, node: Node, versions: tuple[str, ...]) -> tuple[m.Expectation, ...]:
    return reader.each(node, "expectations", lambda n: _expectation(reader, n, versions))


def _expectation(reader: StepReader, node: Node, versions: tuple[str, ...]) -> m.Expectation | None:
    fields = reader.fields(node, "an expectation", ("text", "kafka", *SUBJECTS), ("text",))
    subjects = [key for key in fields if key in SUBJECTS]
    if len(subjects) != 1:
        if isinstance(node, MappingNode):
            found = ", ".join(subjects) or "none"
            reader.problem(node, f"an expectation has one subject ({', '.join(SUBJECTS)}); found {found}")
        return None
    of = subjects[0]
    given = reader.fields(fields[of], of, SUBJECTS[of], REQUIRED.get(of, ()))
    what = {key: SUBJECTS[of][key](reader, value) for key, value in given.items()}
    conditions = [key for key in what if key not in (*REQUIRED.get(of, ()), "nth", "broker", "partition", "topic")]
    if of != "check" and not conditions and isinstance(fields[of], MappingNode):
        reader.problem(fields[of], f"{of} expects nothing; name one of {', '.join(SUBJECTS[of])}")
    text = reader.text(fields["text"]) if "text" in fields else None
    kafka = _versions(reader, fields.get("kafka"), versions)
    return None if text is None else m.Expectation(text=text, of=of, what=what, kafka=kafka)


def read_violations(reader: StepReader, node: Node, versions: tuple[str, ...]) -> tuple[m.ExpectedViolation, ...]:
    def one(item: Node) -> m.ExpectedViolation | None:
        known = ("check", "because", "count", "sometimes", "kafka")
        fields = reader.fields(item, "a violation", known, ("check", "because"))
        if "check" not in fields or "because" not in fields:
            return None
        check, because = _check_name(reader, fields["check"]), reader.text(fields["because"])
        count = reader.integer(fields["count"], "count", low=1) if "count" in fields else None
        sometimes = bool(reader.truth(fields["sometimes"], "sometimes")) if "sometimes" in fields else False
        if sometimes and count is not None:
            reader.problem(fields["count"], "a violation with 'sometimes' has no count")
        kafka = _versions(reader, fields.get("kafka"), versions)
        if check is None or because is None:
            return None
        return m.ExpectedViolation(check=check, because=because, count=count, sometimes=sometimes, kafka=kafka)

    return reader.each(node, "violations", one)


def read_exits(reader: StepReader, node: Node, versions: tuple[str, ...]) -> tuple[m.ExpectedExit, ...]:
    def one(item: Node) -> m.ExpectedExit | None:
        required = ("node", "because")
        fields = reader.fields(item, "an exit", (*required, "kafka"), required)
        if len(fields) < len(required):
            return None
        name, because = reader.node(fields["node"]), reader.text(fields["because"])
        kafka = _versions(reader, fields.get("kafka"), versions)
        return None if name is None or because is None else m.ExpectedExit(node=name, because=because, kafka=kafka)

    return reader.each(node, "exits", one)


def _versions(reader: StepReader, node: Node | None, versions: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the scenario's versions that are named; all (empty) if none is."""
    if node is None:
        return ()

    def one(item: Node) -> str | None:
        version = read_version(reader, item)
        if version is not None and versions and version not in versions:
            reader.problem(item, f"the scenario is not for Kafka {version}; one of: {', '.join(versions)}")
        return version

    return reader.each(node, "versions", one, single=True)


def read_version(reader: StepReader, node: Node) -> str | None:
    """As on the ladder: `2.6.3` is 2.6."""
    given = reader.text(node, "a version")
    if given is None:
        return None
    try:
        return ladder_name(given)
    except UnknownVersion as error:
        reader.problem(node, str(error))
        return None


def read_races(reader: StepReader, node: Node) -> tuple[Race, ...]:
    def substitution(item: Node) -> Substitution | None:
        keys = ("of", "where", "leaf", "recorded", "instead")
        fields = reader.fields(item, "a substitution", keys, keys)
        if len(fields) < len(keys):
            return None
        of, leaf = reader.word(fields["of"], "list of entries", SECTIONS), reader.text(fields["leaf"])
        where = {key: plain(value) for key, _, value in reader.pairs(fields["where"], "where")}
        recorded, instead = plain(fields["recorded"]), plain(fields["instead"])
        if of is None or leaf is None:
            return None
        return Substitution(of=of, where=where, leaf=leaf, recorded=recorded, instead=instead)

    def addition(item: Node) -> Addition | None:
        keys = ("of", "after", "entry")
        fields = reader.fields(item, "an addition", keys, keys)
        if len(fields) < len(keys):
            return None
        of = reader.word(fields["of"], "list of entries", SECTIONS)
        after, entry = (
            {key: plain(value) for key, _, value in reader.pairs(fields[name], name)} for name in ("after", "entry")
        )
        return None if of is None else Addition(of=of, after=after, entry=entry)

    def one(item: Node) -> Race | None:
        needed = ("name", "rule")
        fields = reader.fields(item, "a race", (*needed, "allows", "adds"), needed)
        if any(key not in fields for key in needed):
            return None
        name, rule = reader.text(fields["name"]), reader.text(fields["rule"])
        allows = reader.each(fields["allows"], "substitutions", substitution) if "allows" in fields else ()
        adds = reader.each(fields["adds"], "additions", addition) if "adds" in fields else ()
        if not allows and not adds:
            reader.problem(item, "a race allows at least one substitution or adds at least one entry")
        if name is None or rule is None:
            return None
        return Race(name=name, rule=rule, allows=allows, adds=adds)

    races = reader.each(node, "races", one)
    if len(races) > MAX_RACES:
        reader.problem(node, f"at most {MAX_RACES} races")
    names = [race.name for race in races]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        reader.problem(node, f"two races are called {shown(name)}{nearest(name, ())}")
    return races
