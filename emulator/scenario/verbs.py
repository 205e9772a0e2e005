"""The verbs of a scenario file: keys and resulting step of each.

The table at the end is the grammar; docs/scenarios.md describes each verb in it. A verb with `short` may be
given that one value without its key: `kill: 0`.
"""

from collections.abc import Iterator
from typing import cast

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from emulator.scenario import client_verbs as client
from emulator.scenario import fault_verbs as fault
from emulator.scenario import group_verbs as group
from emulator.scenario import scenario_model as m
from emulator.scenario import topic_verbs as topics
from emulator.scenario import workload_verbs as load
from emulator.scenario.conditions import EVERY_ISR_FULL, Condition, described
from emulator.scenario.document import SECONDS_MAX, nearest, plain, shown
from emulator.scenario.node_state_validation import NodeStates
from emulator.scenario.recording import RECORDED
from emulator.scenario.step_reader import LINK_KEYS, Keys, StepReader, Steps, Verb
from emulator.scenario.transaction_verbs import TRANSACTION_VERBS
from emulator.scenario.waits import read_condition
from emulator.topology import KRAFT

MAX_STEPS = 10_000
"""Of one scenario, repeats unrolled."""


def read_steps(reader: StepReader, node: Node) -> tuple[m.AnyStep, ...]:
    """All steps of a list; faults are noted."""
    return tuple(step for _, steps in _items(reader, node) for step in steps)


def read_script(reader: StepReader, node: Node) -> tuple[m.AnyStep, ...]:
    """A scenario's own steps, from a cluster that is not started yet.

    Records contradictions in their order.
    """
    reader.rename(node)
    standings = NodeStates(reader.topology)
    found: Steps = []
    problems: list[tuple[Node, str]] = []
    for item, steps in _items(reader, node):
        problems += standings.take(item, steps)
        found += steps
    if not reader.problems:  # after unreadable steps these would only be consequential errors
        for item, problem in problems:
            reader.problem(item, problem)
    return tuple(found)


def _items(reader: StepReader, node: Node) -> Iterator[tuple[Node, Steps]]:
    items = reader.items(node, "steps")
    if len(items) > MAX_STEPS:  # each would be read before they are counted
        reader.problem(node, f"more than {MAX_STEPS} steps")
        return
    for item in items:
        yield item, read_step(reader, item)


def read_step(reader: StepReader, item: Node) -> Steps:
    """`- heal`, or one verb with its value beside `at_s` and `background`."""
    if isinstance(item, ScalarNode):
        verb = reader.word(item, "verb", VERBS)
        return [] if verb is None else _made(reader, verb, item, None, bare=True)
    verbs = []
    around: dict[str, Node] = {}
    for key, key_node, value in reader.pairs(item, "a step"):
        if key in ("at_s", "background"):
            around[key] = value
        elif key in VERBS:
            verbs.append((key, key_node, value))
        else:
            reader.problem(key_node, f"unknown verb {shown(key)}{nearest(key, VERBS)}")
            return []
    at_s = reader.number(around["at_s"], "at_s", 0, SECONDS_MAX) if "at_s" in around else None
    if len(verbs) != 1:
        if isinstance(item, MappingNode):
            names = ", ".join(key for key, _, _ in verbs) or "none"
            reader.problem(item, f"a step has one verb; found {names}")
        return []
    verb, verb_node, value = verbs[0]
    steps = _made(reader, verb, value, at_s)
    if "background" not in around:
        return steps
    name = reader.text(around["background"], "the background step's name")
    reader.background.add(name or "")  # known to `await` even if the step itself cannot be used
    if name is None or len(steps) != 1:
        return []
    if isinstance(steps[0], m.Await | m.Repeat | m.Background | m.Workload):
        instead = "; a workload goes on beside the steps" if isinstance(steps[0], m.Repeat) else ""
        reader.problem(verb_node, f"{verb} cannot run in the background{instead}")
        return []
    return [m.Background(name=name, step=steps[0], at_s=at_s)]


def _made(reader: StepReader, name: str, value: Node, at_s: float | None, bare: bool = False) -> Steps:
    verb = VERBS[name]
    if bare:
        if verb.required:
            reader.problem(value, f"{name} needs {', '.join(repr(key) for key in verb.required)}")
            return []
        return verb.read(_no_keys(reader, value), at_s)
    keys = Keys(reader, value, name, verb.keys, verb.required, verb.short)
    if keys.failed and not keys.nodes:
        return []
    before = len(reader.problems)
    steps = verb.read(keys, at_s)
    return [] if keys.failed or len(reader.problems) > before else steps


def _no_keys(reader: StepReader, node: Node) -> Keys:
    empty = MappingNode("tag:yaml.org,2002:map", [], node.start_mark, node.end_mark)
    return Keys(reader, empty, "", ())


def _snapshot(k: Keys, at_s: float | None) -> Steps:
    return [m.TakeSnapshot(label=k.need("label", k.reader.label), at_s=at_s)]


def _record(k: Keys, at_s: float | None) -> Steps:
    known = RECORDED

    def read(node: Node) -> tuple[str, ...]:
        return k.reader.each(node, "things", lambda n: k.reader.word(n, "thing to record", known), single=True)

    partition = k.partition()
    what = k.need("what", read) or ()
    of_all = ("controller", "partitions")
    return [m.Record(what=one, partition=None if one in of_all else partition, at_s=at_s) for one in what]


def _wait(k: Keys, at_s: float | None) -> Steps:
    def read(node: Node) -> Condition | None:
        return read_condition(k.reader, node)

    until = cast(Condition, k.need("until", read))
    limit_s = k.seconds("limit_s", 90)
    if k.failed:
        return []
    # The words as written are the wait's name, unless it is called something else.
    word = str(plain(k.nodes["until"]))
    as_written = word if word.lower().endswith(f" {EVERY_ISR_FULL}") else described(until)
    called = k.get("called", k.reader.label, as_written)
    may = k.get("may_time_out", lambda n: k.reader.truth(n, "may_time_out"), False)
    k.reader.waits.add(called)
    return [m.Wait(until=until, called=called, limit_s=limit_s, may_time_out=may, at_s=at_s)]


def controller_number(reader: StepReader, node: Node) -> int | None:
    """Number of a controller of the topology."""
    known = [one.number for one in reader.topology.with_role("controller")]
    number = reader.integer(node, "a controller's number")
    if reader.topology.metadata != KRAFT:
        reader.problem(node, "a quorum of controllers is KRaft's; set `metadata: kraft`")
    elif number is not None and number not in known:
        reader.problem(node, f"there is no controller {number}; one of: {', '.join(map(str, known))}")
        return None
    return number


def _cut_controllers(k: Keys, at_s: float | None) -> Steps:
    def read(node: Node) -> tuple[int, ...] | None:
        return k.reader.each(node, "controllers", lambda n: controller_number(k.reader, n), single=True) or None

    return [m.CutControllers(az=k.need("az", k.reader.az), controllers=k.need("controllers", read), at_s=at_s)]


def _describe_quorum(k: Keys, at_s: float | None) -> Steps:
    return [m.DescribeQuorum(controller=k.need("controller", lambda n: controller_number(k.reader, n)), at_s=at_s)]


def _require_controller(k: Keys, at_s: float | None) -> Steps:
    controller = k.get("controller", lambda n: controller_number(k.reader, n), None)
    return [m.RequireController(controller=controller, at_s=at_s)]


def _add_controller(k: Keys, at_s: float | None) -> Steps:
    return [m.AddController(controller=k.need("controller", lambda n: _voter(k, n)), at_s=at_s)]


def _remove_controller(k: Keys, at_s: float | None) -> Steps:
    return [m.RemoveController(controller=k.need("controller", lambda n: _voter(k, n)), at_s=at_s)]


def _voter(k: Keys, node: Node) -> int | None:
    """Number of a controller in a quorum whose voters may change."""
    if k.reader.topology.metadata == KRAFT and not k.reader.topology.initial_controllers:
        k.reader.problem(node, "the voters are static; give the topology `initial_controllers`")
    return controller_number(k.reader, node)


def _sleep(k: Keys, at_s: float | None) -> Steps:
    return [m.Sleep(seconds=k.seconds("s"), at_s=at_s)]


def _settle(k: Keys, at_s: float | None) -> Steps:
    quiet_s, limit_s = k.seconds("quiet_s"), k.seconds("limit_s", 40)
    return [m.Settle(quiet_s=quiet_s, limit_s=limit_s, at_s=at_s)]


def _await(k: Keys, at_s: float | None) -> Steps:
    name = k.need("name", lambda n: k.reader.word(n, "background step", sorted(k.reader.background)))
    return [m.Await(name=name, at_s=at_s)]


def _repeat(k: Keys, at_s: float | None) -> Steps:
    times = k.need("times", lambda n: k.reader.integer(n, "times", 1, MAX_STEPS))
    steps = k.need("steps", lambda n: read_steps(k.reader, n))
    return [m.Repeat(times=times, steps=steps, at_s=at_s)]


VERBS: dict[str, Verb] = {
    "start": fault.start(),
    **{step.VERB: fault.machine(step) for step in m.MACHINE_STEPS if step not in fault.APART},
    "power-loss": Verb(
        does="The node dies with its page cache; `batches_kept` batches of the log survive (default: by the seed).",
        read=fault.power_loss, keys=("node", "batches_kept", "partition"), required=("node",), short="node",
    ),
    "lose-unsynced": Verb(
        does="Cuts the log file of a dead broker to its first `batches_kept` batches.",
        read=fault.lose_unsynced, keys=("node", "batches_kept", "partition"), required=("node", "batches_kept"),
    ),
    **{verb: fault.link(kind) for verb, kind in m.LINK_FAULTS.items()},
    "heal": Verb(
        does="Ends the rules on these links, or every rule; with `kind` (such as cut), those of that kind alone.",
        read=fault.heal, keys=(*LINK_KEYS, "kind"), short="az",
    ),
    "create-topic": Verb(
        does="A topic with its replicas per partition, named or placed; ends when every partition has a leader.",
        read=topics.or_fails(topics.create_topic),
        keys=("topic", "assignment", "partitions", "replicas", "settings", "may_fail"),
        required=("topic",),
    ),
    "delete-topic": Verb(
        does="Marks a topic for deletion; does not wait.",
        read=topics.or_fails(topics.delete_topic), keys=("topic", "may_fail"), required=("topic",), short="topic",
    ),
    "alter-topic": Verb(
        does="Settings of a topic that is there; ends when they are written and brokers are notified.",
        read=topics.or_fails(topics.alter_topic), keys=("topic", "settings", "remove", "may_fail"), required=("topic",),
    ),
    "alter-broker": Verb(
        does="Settings of a broker that runs, or of all (KIP-226); ends when written and notified.",
        read=topics.or_fails(topics.alter_broker), keys=("broker", "settings", "remove", "may_fail"),
    ),
    "add-partitions": Verb(
        does="More partitions, up to so many, named or placed; ends when each has a leader.",
        read=topics.or_fails(topics.add_partitions), keys=("topic", "partitions", "assignment", "may_fail"),
        required=("topic", "partitions"),
    ),
    "reassign": Verb(
        does="Requests that the controller move partitions to other replicas; does not wait.",
        read=topics.or_fails(topics.reassign), keys=("partitions", "may_fail"), required=("partitions",),
    ),
    "produce": Verb(
        does="One batch per value to a broker, or by a client in an AZ, which finds the leader.",
        read=client.produce,
        keys=(
            "broker", "client", "values", "acks", "retries", "timeout_ms", "socket_timeout_s", "idempotent",
            "client_version", "settings", "every_s", "keys", "partition", "batch", "compression",
            "transactional_id", "records_per_transaction", "partitions", "ends",
        ),
        required=("values", "acks"),
    ),
    "workload": Verb(
        does="Starts in each AZ a producer with a rate and a consumer; they run during later steps.",
        read=load.workload,
        keys=(
            "name", "topic", "rate", "acks", "retries", "idempotent", "client_version", "keys", "value_bytes",
            "settings", "consumer_settings", "producers", "consumers", "group", "azs",
            "transactional_id", "records_per_transaction", "abort_ratio", "output", "group_metadata",
        ),
        required=("name",), short="name",
    ),
    "stop-workload": Verb(
        does="Ends a workload, or all; waits for operations in flight, at most `limit_s`.",
        read=load.stop_workload, keys=("name", "limit_s"), short="name",
    ),
    "library-produce": Verb(
        does="A client library's own producer, with its settings.",
        read=client.library_produce, keys=("client", "broker", "values", "settings", "partition"), required=("values",),
    ),
    "fetch": Verb(
        does="A consumer's fetch at a broker.",
        read=client.fetch, keys=("broker", "offset", "client", "partition", "committed"), required=("broker",),
        short="broker",
    ),
    "consume": Verb(
        does="A consumer of a group reads from the committed offset to the log's end, and leaves.",
        read=group.consume, keys=("group", "partitions", "old", "settings", "at_least_s", "limit_s", "client"),
        required=("group",), short="group",
    ),
    "commit": Verb(
        does="A group commits an offset.",
        read=group.commit,
        keys=("group", "offset", "leader_epoch", "old", "settings", "limit_s", "client", "partition"),
        required=("group", "offset"),
    ),
    "committed": Verb(
        does="Reads a group's committed offset.",
        read=group.committed, keys=("group", "old", "settings", "limit_s", "client", "partition"),
        required=("group",), short="group",
    ),
    "metadata": Verb(
        does="A broker's own metadata.",
        read=client.metadata, keys=("broker", "partition"), required=("broker",), short="broker",
    ),
    "list-offsets": Verb(
        does="A partition's first and last offset for consumers, from a broker.",
        read=client.list_offsets, keys=("broker", "partition"), required=("broker",), short="broker",
    ),
    "elect-preferred": Verb(
        does="Requests an election of preferred leaders; does not wait.",
        read=topics.or_fails(topics.elect_preferred), keys=("partitions", "may_fail"), short="partitions",
    ),
    "elect-controller": Verb(
        does="Deletes `/controller`, so that a controller is elected; does not wait.",
        read=topics.or_fails(topics.elect_controller), keys=("may_fail",),
    ),
    "cut-controllers": Verb(
        does="Drops all packets of the controllers' port between an AZ and the AZs of these controllers (KRaft).",
        read=_cut_controllers, keys=("az", "controllers"), required=("az", "controllers"),
    ),
    "describe-quorum": Verb(
        does="Requests the quorum's state from a controller; its leader alone knows it (KRaft).",
        read=_describe_quorum, keys=("controller",), required=("controller",), short="controller",
    ),
    "require-controller": Verb(
        does="Kills the active controller and starts it again, until this one is active (KRaft).",
        read=_require_controller, keys=("controller",), short="controller",
    ),
    "add-controller": Verb(
        does="Makes a running controller a voter of the quorum (KRaft).",
        read=topics.or_fails(_add_controller), keys=("controller", "may_fail"), required=("controller",),
        short="controller",
    ),
    "remove-controller": Verb(
        does="Takes a controller from the voters of the quorum (KRaft).",
        read=topics.or_fails(_remove_controller), keys=("controller", "may_fail"), required=("controller",),
        short="controller",
    ),
    **TRANSACTION_VERBS,
    "snapshot": Verb(
        does="Records every replica's log and checkpoints under a label.",
        read=_snapshot, keys=("label",), required=("label",), short="label",
    ),
    "record": Verb(
        does="Records ZooKeeper's partition-state, controller or partitions; or logs with wrappers.",
        read=_record, keys=("what", "partition"), required=("what",), short="what",
    ),
    "wait": Verb(
        does="Waits for a condition, at most `limit_s`; after a timeout the run is unknown, unless it `may_time_out`.",
        read=_wait, keys=("until", "limit_s", "called", "may_time_out"), required=("until",), short="until",
    ),
    "sleep": Verb(does="Waits so many seconds.", read=_sleep, keys=("s",), required=("s",), short="s"),
    "settle": Verb(
        does="Waits until ZooKeeper, brokers' metadata and the logs' sizes have not changed for `quiet_s`.",
        read=_settle, keys=("quiet_s", "limit_s"), required=("quiet_s",), short="quiet_s",
    ),
    "await": Verb(
        does="Waits for that background step.", read=_await, keys=("name",), required=("name",), short="name"
    ),
    "repeat": Verb(does="Repeats steps.", read=_repeat, keys=("times", "steps"), required=("times", "steps")),
}  # fmt: skip
"""The grammar of steps."""
