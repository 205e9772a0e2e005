"""The script of a recording as steps, and steps as its `do` entries. The two are inverse.

A recording's `saw` entries that no `do` asked for (partition-state, controller, logs) become `Record`
steps in their place, so that a player makes the same entries in the same order. A produce whose attempt
comes back during a later step ran in the background.
"""

from collections.abc import Iterator
from typing import Any, Final, assert_never

import msgspec

from emulator.old_names import as_recorded
from emulator.scenario import scenario_model as m
from emulator.scenario.observations.observation_model import COMBINED, Entry, Observations
from emulator.scenario.observations.producer_numbers import ProducerNumbers
from emulator.scenario.observations.recording_parsing import Malformed
from emulator.scenario.recorded_conditions import Context, meaning
from emulator.scenario.recorded_transactions import continues, transaction_step
from emulator.scenario.transaction_steps import internal_topics_entry, of_transactions
from emulator.topology import KRAFT, Topology, identifier_of, three_azs
from protocol.ids import NO_BROKER, BrokerId, can_be_topic

RECORDED = ("partition-state", "controller", "logs", "partitions")
"""Kinds of `saw` that stand for themselves."""
ACTIVE_CONTROLLER = "active-controller"
"""Kind of `saw` that is a precondition: the script went on when this controller was active."""

NOTES = {
    m.PairLinks: "broker ports, both ways",
    m.OpenedLinks: "connections that the first opens to the second",
}

ONE_SET = "one message set"
REPEAT_ENTRIES: Final = 2
"""Entries of an answer of a repeated request: the request and the answer."""


def steps_of_recording(recording: Observations) -> tuple[m.AnyStep, ...]:
    """Steps of a recording.

    Raises UnknownText (an unknown wait) and Malformed (a `do` that is no step).
    """
    steps: list[m.AnyStep] = []
    dead: set[int] = set()
    topology = three_azs(metadata=KRAFT, combined=recording.nodes == COMBINED)
    faulted: BrokerId | None = None
    has_topic = False
    numbers = ProducerNumbers()
    timeline = recording.timeline
    awaited: list[tuple[str, int]] = []  # background produces: (name, attempts still to come)
    for index, entry in enumerate(timeline):
        if "do" in entry:
            results = _results(timeline, index)
            saw = results[0] if results else None
            if index >= REPEAT_ENTRIES and continues(timeline[index - 2], timeline[index - 1], entry):
                continue
            try:
                if of_transactions(entry):
                    step: m.AnyStep = transaction_step(entry, saw, numbers, recording.scenario)
                else:
                    step = _step(entry, Context(frozenset(dead), faulted, recording.scenario))
                if recording.mode == KRAFT and m.begins_fault(step):
                    faulted = _faulted(entry, topology, faulted)
                start: tuple[m.AnyStep, ...] = ()
                if isinstance(step, m.Start) and recording.mode == KRAFT and has_topic and "broker" in entry:
                    start = tuple(_kraft_start(step, timeline, index))
                if entry["do"] in ("kill", "start"):
                    (dead.add if entry["do"] == "kill" else dead.discard)(entry.get("broker", NO_BROKER))
            except Malformed:
                raise
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                what = f"no {error}" if isinstance(error, KeyError) else str(error)
                if isinstance(error, TypeError | AttributeError):
                    what = f"a value is of another type than a recording's: {error}"
                raise Malformed(f"timeline[{index}], do {entry['do']!r}: {what}") from error
            if start:
                steps += start
                continue
            has_topic = has_topic or isinstance(step, m.CreateTopic)
            if isinstance(step, m.Wait) and any(r["saw"] == "not-reached" for r in results):
                step = msgspec.structs.replace(step, may_time_out=True)
            if isinstance(step, m.Produce) and not any(r["saw"] == "attempt" for r in results):
                awaited.append((f"produce {','.join(step.values)}", len(step.values)))
                step = m.Background(name=awaited[-1][0], step=step)
            steps.append(step)
            if awaited and not isinstance(step, m.Background | m.Produce):
                coming = sum(r["saw"] == "attempt" for r in results)
                if coming:
                    name, _ = awaited.pop(0)
                    steps.append(m.Await(name=name))
        elif isinstance(entry.get("pid"), int):
            numbers.number(entry["pid"])
        elif entry["saw"] == ACTIVE_CONTROLLER:
            steps.append(m.RequireController(controller=entry.get("controller")))
        elif entry["saw"] in RECORDED:
            steps.append(m.Record(what=entry["saw"]))
    if awaited:
        raise Malformed(f"{awaited[0][0]}: its attempts never came back")
    return tuple(steps)


STARTED_S: Final = 1.0
"""Minimum time that a start took whose script waited for the broker.

No broker starts as fast.
"""


def _kraft_start(step: m.Start, timeline: list[Entry], index: int) -> Iterator[m.AnyStep]:
    """A broker's start in KRaft.

    Some scripts wait for the broker, some go on at once: only the times tell.
    """
    name = f"start {step.node} at {index}"
    yield m.Background(name=name, step=step)
    following = timeline[index + 1] if index + 1 < len(timeline) else timeline[index]
    if following["t"] - timeline[index]["t"] >= STARTED_S:
        yield m.Await(name=name)


def do_entry(step: m.AnyStep) -> Entry | None:
    """The timeline's entry for a step, without its time; None for a step that a script omits."""
    match step:  # in order of how often they come
        case m.Produce() | m.ProduceMessageSet() | m.LibraryProduce():
            return _produce_entry(step)
        case m.Fetch(broker=broker, offset=offset):
            level = {"isolation": "read_committed"} if step.committed else {}
            return {"do": "fetch", "broker": broker, "offset": offset, **level, **_client(step.client, step.partition)}
        case m.Sleep(seconds=seconds):
            return {"do": "pause", "s": seconds}
        case m.Wait(called=called, limit_s=limit_s):
            return {"do": "wait", "until": called, "limit_s": limit_s}
        case m.TakeSnapshot(label=label):
            return {"do": "snapshot", "label": label}
        case m.TransactionStep():
            return step.entry()
        case m.InternalTopics():
            return internal_topics_entry(step)
        case m.CutControllers(az=az, controllers=controllers):
            return {"do": step.VERB, "az": _short(az, "az-"), "controllers": list(controllers)}
        case m.DescribeQuorum(controller=controller):
            return {"do": step.VERB, "controller": controller}
        case m.AddController(controller=controller) | m.RemoveController(controller=controller):
            return {"do": step.VERB, "controller": controller}
        case m.Record() | m.Await() | m.Repeat() | m.RequireController():
            return None
        case m.Background(step=inner):
            return do_entry(inner)
        case m.Together(steps=steps):
            entry = do_entry(steps[0])
            assert entry is not None
            rest = {key: value for key, value in entry.items() if key not in ("do", "broker", "node")}
            return {"do": entry["do"], "nodes": [one.node for one in steps], **rest}
        case m.Start(node=node):
            changed: Entry = {"version": step.version} if step.version else {}
            return {"do": "start", **_node(node), **changed, **({"settings": step.settings} if step.settings else {})}
        case m.PowerLoss(node=node, batches_kept=kept):
            return {"do": "power-loss", **_node(node), "batches_kept": kept, **_partition(step.partition)}
        case m.LoseUnsynced(node=node, batches_kept=kept):
            return {"do": "lose-unsynced", **_node(node), "batches_kept": kept, **_partition(step.partition)}
        case m.MachineStep(node=node):
            return {"do": as_recorded(step.VERB), **_node(node), **_given(step)}
        case m.LinkFault():
            return _link_fault(step)
        case m.Heal(links=links, kind=kind):
            on = {} if links is None else _links(links)
            return {"do": "heal", **on, **({"kind": kind} if kind else {})}
        case m.AdminStep(may_fail=True):
            certain = do_entry(msgspec.structs.replace(step, may_fail=False))
            return {**(certain or {}), "may_fail": True}
        case m.CreateTopic(topic=topic, assignment=(), configs=configs):
            placed = {k: v for k, v in (("partitions", step.partitions), ("replicas", step.replicas)) if v}
            return {"do": "create-topic", "topic": topic, **placed, "configs": configs}
        case m.CreateTopic(topic=topic, assignment=assignment, configs=configs):
            flat: Any = assignment[0] if len(assignment) == 1 else assignment
            return {"do": "create-topic", "topic": topic, "assignment": _lists(flat), "configs": configs}
        case m.AlterTopic(topic=topic, configs=configs, remove=remove):
            entry = {"do": "alter-topic", "topic": topic, **({"configs": configs} if configs else {})}
            return entry | ({"remove": list(remove)} if remove else {})
        case m.AlterBroker(broker=broker, configs=configs, remove=remove):
            entry = {"do": "alter-broker", **({} if broker is None else {"broker": broker})}
            return entry | ({"configs": configs} if configs else {}) | ({"remove": list(remove)} if remove else {})
        case m.AddPartitions(topic=topic, partitions=partitions, assignment=assignment):
            named: Entry = {"assignment": _lists(assignment)} if assignment else {}
            return {"do": "add-partitions", "topic": topic, "partitions": partitions, **named}
        case m.Reassign(targets=targets):
            return {"do": "reassign", "partitions": {name: list(replicas) for name, replicas in targets}}
        case m.DeleteTopic(topic=topic):
            return {"do": "delete-topic", "topic": topic}
        case m.ElectController():
            return {"do": "elect-controller"}
        case m.ElectPreferred(partitions=partitions):
            return {"do": "elect-preferred", **({"partitions": list(partitions)} if partitions else {})}
        case m.Workload():
            return _workload_entry(step)
        case m.StopWorkload(name=name, limit_s=limit_s):
            return {"do": "stop-workload", **({"name": name} if name else {}), "limit_s": limit_s}
        case m.AskMetadata(broker=broker):
            return {"do": "metadata", "broker": broker, **_partition(step.partition)}
        case m.ListOffsets(broker=broker):
            return {"do": "list-offsets", "broker": broker, **_partition(step.partition)}
        case m.Consume() | m.Commit() | m.LookCommitted():
            return _group_entry(step)
        case m.Settle(quiet_s=quiet_s, limit_s=limit_s):
            return {"do": "settle", "quiet_s": quiet_s, "limit_s": limit_s}


def _produce_entry(step: m.Produce | m.ProduceMessageSet | m.LibraryProduce) -> Entry:
    values = list(step.values)
    entry: Entry
    match step:
        case m.Produce():
            entry = {"do": "produce", "broker": step.broker, "values": values, "acks": _acks(step.acks)}
            entry |= {"retries": step.retries, "timeout_ms": step.timeout_ms}
            entry |= {"socket_timeout_s": step.socket_timeout_s}
            entry |= {} if step.idempotent is None else {"idempotent": step.idempotent}
            entry |= {"client_version": step.client_version} if step.client_version else {}
            entry |= {"settings": step.settings} if step.settings else {}
            entry |= {"every_s": step.every_s} if step.every_s else {}
            entry |= {"keys": list(step.keys)} if step.keys else {}
            if step.transactional_id:
                entry |= {"transactional_id": step.transactional_id}
                entry |= {"records_per_transaction": step.records_per_transaction, "ends": list(step.ends)}
                entry |= {"partitions": list(step.partitions)} if step.partitions else {}
            return entry | _client(step.client, step.partition)
        case m.ProduceMessageSet():
            entry = {
                "do": "produce",
                "broker": step.broker,
                "values": values,
                "compression": step.compression,
            }
            entry |= {"batch": ONE_SET, "acks": _acks(step.acks), "timeout_ms": step.timeout_ms}
        case m.LibraryProduce():
            entry = {"do": "library-produce", "client": step.library, "broker": step.broker, "values": values}
            entry |= {"settings": step.settings}
        case _:
            assert_never(step)
    return entry | _partition(step.partition)


def _group_entry(step: m.Consume | m.Commit | m.LookCommitted) -> Entry:
    old: Entry = {"old": True} if step.old else {}
    match step:
        case m.Consume():
            entry: Entry = {"do": "consume", "group": step.group, "partitions": list(step.partitions), **old}
            entry |= {"settings": step.settings, "at_least_s": step.at_least_s, "limit_s": step.limit_s}
            return entry | _client(step.client, None)
        case m.Commit():
            entry = {"do": "commit", "group": step.group, "offset": step.offset, "leader_epoch": step.leader_epoch}
            entry |= {**old, "settings": step.settings, "limit_s": step.limit_s}
            return entry | _client(step.client, step.partition)
        case m.LookCommitted():
            entry = {"do": "committed", "group": step.group, **old, "settings": step.settings, "limit_s": step.limit_s}
            return entry | _client(step.client, step.partition)
        case _:
            assert_never(step)


def _workload_entry(step: m.Workload) -> Entry:
    """A workload's entry, without default values."""
    usual = m.Workload(name="")
    entry: Entry = {"do": "workload", "name": step.name}
    entry |= {"rate": step.rate_per_s} if step.producers else {}
    entry |= {"acks": _acks(step.acks)} if step.acks != m.ACKS_AS_SET else {}
    entry |= {"azs": list(step.azs)} if step.azs else {}
    names = (
        "topic", "retries", "idempotent", "client_version",
        "keys", "value_bytes", "settings", "consumer_settings", "producers",
        "consumers", "group",
        "transactional_id", "records_per_transaction", "abort_ratio", "output", "group_metadata",
    )  # fmt: skip
    return entry | {name: getattr(step, name) for name in names if getattr(step, name) != getattr(usual, name)}


def _link_fault(step: m.LinkFault) -> Entry:
    note = {"note": NOTES[type(step.links)]} if isinstance(step, m.Cut) and type(step.links) in NOTES else {}
    amounts = {as_recorded(step.VERB, one.encode_name): getattr(step, one.name) for one in step.own_fields()}
    only = {"only": [*step.purposes, *step.apis]} if step.purposes or step.apis else {}
    idle = {} if step.expects_traffic else {"expects_traffic": False}
    return {"do": step.VERB, **_links(step.links), **note, **amounts, **only, **idle}


def _links(links: m.Links) -> Entry:
    match links:
        case m.AzLinks(az=az):
            return {"az": _short(az, "az-")}
        case m.PairLinks(between=between):
            return {"link": [_short(end, "broker-") for end in between]}
        case m.OpenedLinks(opened_by=opener, to=to):
            return {"opened_by": _short(opener, "broker-"), "to": _short(to, "broker-")}
        case m.OneWayLinks(source=source, to=to):
            return {"from": _short(source, "broker-"), "to": _short(to, "broker-")}


def _acks(acks: int) -> int | str:
    return "producer.acks" if acks == m.ACKS_AS_SET else acks


def _short(name: str, prefix: str) -> int | str:
    """`broker-2` -> 2, as the recordings say it; other names as they are."""
    number = name.removeprefix(prefix)
    return int(number) if name != number and number.isdigit() else name


def _node(name: str) -> Entry:
    for role in ("broker", "controller"):
        short = _short(name, f"{role}-")
        if isinstance(short, int):
            return {role: short}
    return {"node": name}


def _given(step: m.MachineStep) -> Entry:
    """Values of a step besides the node, by the keys of recordings."""
    given = ((field, getattr(step, field.name)) for field in step.own_fields())
    return {as_recorded(step.VERB, field.encode_name): value for field, value in given if value != field.default}


def _partition(partition: str | None) -> Entry:
    return {} if partition is None else {"partition": partition}


def _client(client: str, partition: str | None) -> Entry:
    return ({"client": client} if client else {}) | _partition(partition)


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def _results(timeline: list[Entry], index: int) -> list[Entry]:
    """Results between this `do` and the next."""
    results = []
    for entry in timeline[index + 1 :]:
        if "do" in entry:
            break
        results.append(entry)
    return results


def _full(short: int | str, prefix: str) -> str:
    return f"{prefix}{short}" if isinstance(short, int) else short


def _machine(e: Entry) -> str:
    """Node of an entry about a broker or a controller."""
    return f"controller-{e['controller']}" if "controller" in e else _full(e["broker"], "broker-")


def _entry_links(e: Entry) -> m.Links:
    if "az" in e:
        return m.AzLinks(_full(e["az"], "az-"))
    if "link" in e:
        first, second = e["link"]
        return m.PairLinks((_full(first, "broker-"), _full(second, "broker-")))
    if "opened_by" in e:
        return m.OpenedLinks(_full(e["opened_by"], "broker-"), _full(e["to"], "broker-"))
    return m.OneWayLinks(_full(e["from"], "broker-"), _full(e["to"], "broker-"))


def _faulted(e: Entry, topology: Topology, before: BrokerId | None) -> BrokerId | None:
    """Id of the controller that a fault of KRaft's concerns, by its number or AZ."""
    number = e.get("controller", e.get("az"))
    ids = {node.number: identifier_of(node) for node in topology.with_role("controller")}
    return before if number is None else ids.get(number, before)


def _step(e: Entry, context: Context) -> m.AnyStep:
    """A recording's `do` entry. Only verbs in recordings; YAML has more."""
    match e["do"]:
        case "start":
            return m.Start(node=_machine(e))
        case "kill":
            return m.Kill(node=_machine(e))
        case "stop":
            return m.Stop(node=_machine(e))
        case "pause-node":
            return m.PauseNode(node=_machine(e))
        case "resume-node":
            return m.ResumeNode(node=_machine(e))
        case "lose-disk":
            return m.LoseDisk(node=_machine(e))
        case "cut-controllers":
            return m.CutControllers(az=_full(e["az"], "az-"), controllers=tuple(e["controllers"]))
        case "describe-quorum":
            return m.DescribeQuorum(controller=e["controller"])
        case "lose-unsynced":
            return m.LoseUnsynced(node=_full(e["broker"], "broker-"), batches_kept=e["batches_kept"])
        case "cut":
            return m.Cut(links=_entry_links(e))
        case "heal":
            return m.Heal()
        case "create-topic":
            if not can_be_topic(e["topic"]):
                raise Malformed(f"create-topic: {e['topic']!r} cannot be a topic's name")
            return m.CreateTopic(topic=e["topic"], assignment=(tuple(e["assignment"]),), configs=e["configs"])
        case "produce" if e.get("batch") == ONE_SET:
            kept = {key: e[key] for key in ("broker", "compression", "acks", "timeout_ms")}
            return m.ProduceMessageSet(values=tuple(e["values"]), **kept)
        case "produce":
            names = ("broker", "acks", "retries", "timeout_ms", "socket_timeout_s")
            return m.Produce(values=tuple(e["values"]), **{key: e[key] for key in names})
        case "library-produce":
            return m.LibraryProduce(
                library=e["client"], broker=e["broker"], values=tuple(e["values"]), settings=e["settings"]
            )
        case "fetch":
            return m.Fetch(broker=e["broker"], offset=e["offset"], committed="isolation" in e)
        case "metadata":
            return m.AskMetadata(broker=e["broker"])
        case "snapshot":
            return m.TakeSnapshot(label=e["label"])
        case "elect-preferred":
            return m.ElectPreferred()
        case "internal-topics":
            return m.InternalTopics(
                assignments=tuple((topic, tuple(replicas)) for topic, replicas in e["assignments"].items())
            )
        case "wait":
            until = meaning(e["until"], context)
            return m.Wait(until=until, called=e["until"], limit_s=e["limit_s"])
        case "pause":
            return m.Sleep(seconds=e["s"])
        case "settle":
            return m.Settle(quiet_s=e["quiet_s"], limit_s=e["limit_s"])
        case verb:
            raise Malformed(f"do {verb!r}: not a step of a recording")
