"""Scenario files drawn from the grammar: each verb, key and subject with boundary values.

Useless values come, too.

`field_cases` puts every hostile value in the place of every field once. `scenario_text` draws a whole file by number:
half of them with one field of those pairs, half with several faults at once, also of the YAML itself. The same number
gives the same text. The grammar is the loader's own (`VERBS`, `SUBJECTS`, `KEYS` of waits, `load.KEYS`), so that a key
that is added is drawn from the day it is there; `GOOD` lacks a value for it until one is written down.
"""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Final

from emulator.scenario.expectations import SUBJECTS
from emulator.scenario.load import KEYS as FILE_KEYS
from emulator.scenario.step_reader import LINK_KEYS
from emulator.scenario.verbs import VERBS
from emulator.scenario.waits import KEYS as WAIT_KEYS
from emulator.settings.setting import BROKER, CONSUMER, PRODUCER, TOPIC
from emulator.settings.setting_registry import BY_SCOPE

Field = tuple[str, str]
"""A part of the file (a verb, a subject, `file`, `settings`, ...), and a key of it."""

DIGITS_400: Final = "9" * 400
HOSTILE: Final = (
    # numbers at and beyond the bounds of what carries them
    "0", "-1", "1", "-0.0", "0.5", "127", "128", "255", "256", "32767", "32768", "65536", "1000001", "2147483646",
    "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967296", "4611686018427387904",
    "4611686018427387905", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e15", "1e16",
    "1e308", "1e400", "-1e400", "1e-320", ".inf", "-.inf", ".nan", "0x7fffffff", "0xffffffffffffffffff", "0o17", "010",
    "1_000", "0b1", DIGITS_400, f"-{DIGITS_400}", "9" * 5000, "0x" + "f" * 5000, f"0.{DIGITS_400}", "1.5e3",
    # words and texts
    "true", "false", "null", "~", "''", "' '", "yes", "any", "all", "none", "A", "broker-0", "broker-99", "az-0",
    "az-*", "'*'", "'broker-*'", "'[a'",
    "leader of t-0", "leader:t-9", "leader of", "'leader: '", "Leader of x", "active controller",
    "session", "session-0", "client-0", "observer", "controller-0", "t-0", "t-99",
    "t", "x-0", "-", "'-0'", "t-0-0", "' t-0'", r'"\0"', r'"\ud800"', r'"\udfff a"', r'"\x7f\x1b[31m"', r'"a\nb"',
    r'"\uFEFF"', r'"\U0001F600"', "é", "日本語", "'" + "a" * 255 + "'", "'" + "a" * 256 + "'", "'" + "ü" * 200 + "'",
    "'" + "a" * 40_000 + "'", "../../etc/passwd", "/dev/zero", "'{}'", "'[]'", "'%s%n'", "__consumer_offsets",
    "__consumer_offsets-0", "2024-01-01", "12:30:00",
    # containers
    "[]", "{}", "[null]", "[[]]", "[{}]", "{a: 1}", "{? [a] : b}", "{'': ''}", "[0]", "[0, 0]", "[1, 0]", "[0, 1, 2]",
    "[[0], [1]]", "[[0, 1], [1, 0]]", "[-1]", "[99]", "['']", r'["\ud800"]', "[0, [0]]", "{0: 0}", "{0: [0]}",
    "{t-0: [0]}", "{az: az-0}", "{link: [0, 1]}", "[a, b, c]", "[" + ", ".join("a" for _ in range(3000)) + "]",
    "[" * 60 + "]" * 60, "{not: " * 40 + "new leader" + "}" * 40,
    # YAML's own
    "!!int '7'", "!!float '1'", "!!float nan", "!!null ''", "!!bool maybe", "!!int x", "!!binary '////'",
    "!!python/object:os.system x", "!!set {a}", "!!omap [a: 1]", "&a [1, *a]", "&b {x: *b}", "*nowhere", "!custom x",
    "{<<: {a: 1}}", "[*c]", "&d 1", "@x", "`x", "%x", "{", "]", "'", "a: b: c", "- a", "\t", "#",
)  # fmt: skip
"""Values as they stand in a file."""
NUMBERS: Final = HOSTILE[: HOSTILE.index("true")]

GOOD: Final[dict[str, tuple[str, ...]]] = {
    "acks": ("all", "-1", "0", "1", "producer.acks"),
    "allows": ("[]",),
    "as_recorded": ("false", "true"),
    "assignment": ("[0, 1]", "[[0, 1], [1, 0]]", "[1]"),
    "at_least": ("0", "1"),
    "at_least_s": ("0", "1.5"),
    "at_most": ("0", "1000"),
    "abort_ratio": ("0", "0.5", "1"),
    "end": ("commit", "abort", "open"),
    "ends": ("[commit, abort]", "abort", "[commit, open]"),
    "group_metadata": ("true", "false"),
    "number": ("1", "2"),
    "output": ("t",),
    "records_per_transaction": ("1", "10"),
    "az": ("az-0", "1"),
    "azs": ("[az-0]", "az-1"),
    "batch": ("one message set",),
    "batches_kept": ("0", "1"),
    "broker": ("0", "1", "broker-1", "leader of t-0"),
    "bytes_per_s": ("1000", "1e6"),
    "called": ("the wait", "new leader"),
    "every_ms": ("1", "250"),
    "held": ("true", "false"),
    "may_fail": ("true", "false"),
    "assignments": ("{__transaction_state: [0, 1], u: [1]}",),
    "commits": ("true", "false"),
    "first_controller": ("0",),
    "key": ("A",),
    "producer": ("0", "-1"),
    "repeat": ("true", "false"),
    "sequence": ("0", "-1"),
    "stable": ("true", "false"),
    "transactional_id": ("A", "B"),
    "txn_batch": ("true", "false"),
    "v12": ("false", "true"),
    "v5": ("false", "true"),
    "version": ("3", "5"),
    "verb": ("create-topic", "elect-controller"),
    "change": ("shrink", "expand"),
    "client": ("client-0", "az-1"),
    "client_version": ("2.8", "3.9"),
    "commit": ("0", "TimeoutException"),
    "committed": ("0", "none"),
    "compression": ("none", "gzip"),
    "configs": ("{min.insync.replicas: 1}", "{retention.ms: 1000}", "{}"),
    "consumer_settings": ("{max.poll.records: 10}", "{fetch.max.wait.ms: 100}"),
    "consumers": ("true", "false"),
    "controller": ("0", "1"),
    "controller_epoch": ("1",),
    "controller_settings": ("{}",),
    "controllers": ("0",),
    "nodes": ("separate",),
    "metadata": ("zookeeper",),
    "unfenced": ("0", "1"),
    "count": ("ok", "sent", "1"),
    "delay_ms": ("0", "1", "50"),
    "deleted": ("t",),
    "directory": ("d0",),
    "earliest": ("0",),
    "epoch": ("1",),
    "epoch_at_least": ("1",),
    "epoch_at_most": ("9",),
    "partition_epoch": ("0", "2"),
    "elr": ("[]", "[1]"),
    "last_known_elr": ("[]", "[0]"),
    "recovering": ("true", "false"),
    "epochs": ("[[0, 0]]", "[]"),
    "error": ("0", "NOT_LEADER_OR_FOLLOWER", "TimeoutError", "TimeoutException"),
    "every": ("new leader", "isr restored"),
    "every_s": ("0", "0.1"),
    "expects_traffic": ("false", "true"),
    "expects_violations": ("[{check: duplicate, because: x}]",),
    "expects_exits": ("[{node: broker-0, because: x}]",),
    "expectations": ("[{text: x, state: {leader: 0}}]",),
    "from": ("0", "az-0"),
    "fsync_ms": ("1",),
    "group": ("g", "G-1"),
    "high_watermark": ("0", "1", "none"),
    "idempotent": ("true", "false"),
    "in_isr": ("0", "1"),
    "in_sync": ("1",),
    "isr": ("[0, 1]", "0"),
    "jitter_ms": ("0", "1"),
    "jump_ms": ("100", "-100"),
    "kafka": ("2.8", "[2.6, 2.8]", "0.10.2", "1.1", "0.8.2"),
    "kafka_version": ("2.8", "2.6"),
    "keys": ("[k, l]", "5"),
    "kind": ("cut", "delay"),
    "label": ("s", "end"),
    "latest": ("1",),
    "leader": ("0", "none", "1"),
    "leader_epoch": ("0", "-1", "1"),
    "leaders_apart": ("1",),
    "leads": ("{broker: 0, seen_by: 1}",),
    "led": ("2",),
    "limit_s": ("1", "5", "0.5"),
    "link": ("[0, 1]", "[az-0, az-1]", "[0, session]", "[leader of t-0, session]", "[active controller, 1]"),
    "live_brokers": ("[0, 1]",),
    "may_time_out": ("true", "false"),
    "name": ("w", "b"),
    "network": ("{latency_ms: 1}", "{recovery: instant}"),
    "node": ("0", "broker-1", "az-0", "[0, 1]", "session-0", "leader of t-0", "active controller", "[leader:t-1, 1]"),
    "not": ("new leader", "{leader: 0}"),
    "not_led_by": ("[0]",),
    "nth": ("1", "2"),
    "offset": ("0", "1"),
    "offsets": ("[0, 1]",),
    "old": ("false", "true"),
    "only": ("[fetch]", "produce", "[fetcher, metadata]"),
    "opened_by": ("0",),
    "partition": ("t-0", "t-1"),
    "partitions": ("3", "[t-0]", "{t-0: [1, 0]}", "1"),
    "position": ("0",),
    "preferred": ("1",),
    "producers": ("true", "false"),
    "quiet_s": ("0.5", "1"),
    "races": ("[]",),
    "rate": ("0.1", "5"),
    "registered": ("[0, 1]", "0"),
    "remove": ("[min.insync.replicas]", "retention.ms"),
    "replicas": ("1", "2", "[0, 1]", "all"),
    "replicas_apart": ("1",),
    "resets": ("[OffsetOutOfRangeException]",),
    "retries": ("0", "3"),
    "s": ("0", "0.5", "1"),
    "session_expired": ("[0]",),
    "settings": ("{linger.ms: 5}", "{max.poll.records: 10}", "{log.retention.ms: 1000}", "{}"),
    "settings_by_broker": ("{0: {unclean.leader.election.enable: true}}",),
    "settings_by_version": ("{2.8: {replica.lag.time.max.ms: 20000}}",),
    "settings_files": ("[]",),
    "share": ("0.1",),
    "socket_timeout_s": ("1", "10"),
    "speed": ("5",),
    "steps": ("[sleep: 0.1]", "[heal]"),
    "operation_ms": ("1",),
    "text": ("what is expected",),
    "timeout_ms": ("100", "1500"),
    "times": ("1", "2"),
    "title": ("a title",),
    "to": ("1", "az-1"),
    "topic": ("t", "u"),
    "topology": ("{brokers: 2}", "{brokers: 2, azs: 2}", "{sessions: 1}"),
    "tries": ("1",),
    "until": ("new leader", "{leader: 0}", "isr restored", "t-0 every ISR full", "t every isr full"),
    "value_bytes": ("0", "100"),
    "values": ("[a, b]", "a"),
    "verdict": ("held", "violated", "unknown"),
    "what": ("partition-state", "[controller, partitions]", "logs"),
    "zk_version": ("0",),
    "id": ("x", "a-b.c"),
    "article": ("none",),
    "all": ("[new leader, isr shrunk]",),
    "replicas_of": ("[0, 1]",),
}  # fmt: skip
"""Values with which a key is usable, at least somewhere."""

GOOD_OF: Final[dict[Field, tuple[str, ...]]] = {
    ("file", "settings"): ("{log.retention.ms: 1000}", "{producer.linger.ms: 5}", "{}"),
    ("consume", "settings"): ("{max.poll.records: 10}", "{auto.offset.reset: earliest}"),
    ("commit", "settings"): ("{max.poll.records: 10}",),
    ("committed", "settings"): ("{}",),
    ("produce", "settings"): ("{linger.ms: 5}", "{batch.size: 10}"),
    ("workload", "settings"): ("{linger.ms: 5}",),
    ("library-produce", "settings"): ("{acks: 1}", "{message.timeout.ms: 3000}"),
    ("start", "settings"): ("{replica.lag.time.max.ms: 20000}", "{num.replica.fetchers: 2}"),
    ("library-produce", "client"): ("librdkafka",),
    ("alter-broker", "configs"): ("{log.retention.ms: 1000}", "{num.io.threads: 4}"),
    ("alter-broker", "remove"): ("log.retention.ms",),
    ("create-topic", "topic"): ("u", "v-1"),
    ("create-topic", "partitions"): ("1", "3"),
    ("create-topic", "replicas"): ("1", "2"),
    ("add-partitions", "partitions"): ("3", "4"),
    ("add-partitions", "assignment"): ("[[0, 1]]",),
    ("reassign", "partitions"): ("{t-0: [1, 0]}", "{t-1: [0]}"),
    ("elect-preferred", "partitions"): ("[t-0]", "t-1"),
    ("consume", "partitions"): ("[t-0]", "[t-0, t-1]"),
    ("produce", "partitions"): ("[t-0, t-1]", "t-1"),
    ("fetch", "committed"): ("true", "false"),
    ("workload", "topic"): ("t",),
    ("delete-topic", "topic"): ("t",),
    ("alter-topic", "topic"): ("t",),
    ("workload", "keys"): ("0", "5"),
    ("loss", "share"): ("0.1", "1", "0"),
    ("lose-disk", "node"): ("1", "leader of t-0"),
    ("lose-unsynced", "node"): ("1", "leader of t-1"),
    ("start", "node"): ("1", "0", "leader of t-0"),
    ("resume", "node"): ("1", "active controller"),
    ("lose-disk", "directory"): ("",),
    ("disk-full", "directory"): ("",),
    ("disk-error", "directory"): ("",),
    ("topology", "brokers"): ("2",),
    ("check", "name"): ("duplicate", "lost-acknowledged"),
    ("measure", "name"): ("unavailable_ms.az-0", "runs"),
    ("file", "kafka"): GOOD["kafka"],
    ("partitions", "partitions"): ("2",),
    ("workload", "count"): ("ok", "read"),
    ("check", "count"): ("1", "2"),
    ("partitions", "azs"): ("2",),
}  # fmt: skip
"""The same for one verb or subject alone; "": the key is left out."""
LINKS: Final = (
    {"az": "az-0"}, {"link": "[0, 1]"}, {"link": "[az-0, session]"}, {"opened_by": "0", "to": "1"},
    {"from": "1", "to": "0"}, {"link": "[leader of t-0, session]"},
    {"from": "active controller", "to": "leader of t-1"},
)  # fmt: skip

AROUND: Final = ("at_s", "background")
SMALL: Final = "{brokers: 2, sessions: 1, clients: 2, azs: 2}"
SETTINGS: Final = {
    "settings": (*BY_SCOPE[BROKER], *(f"producer.{name}" for name in BY_SCOPE[PRODUCER]),
                 *(f"consumer.{name}" for name in BY_SCOPE[CONSUMER]), *(f"topic.{name}" for name in BY_SCOPE[TOPIC])),
    "library settings": (
        "acks", "request.required.acks", "retries", "message.send.max.retries", "request.timeout.ms",
        "message.timeout.ms", "enable.idempotence", "queue.buffering.max.ms", "linger.ms", "batch.num.messages",
        "compression.codec", "socket.timeout.ms", "retry.backoff.ms", "no.such.setting", "partitioner",
        "max.in.flight.requests.per.connection",
    ),
}  # fmt: skip
NETWORK: Final = ("latency_ms", "recovery")
TOPOLOGY: Final = ("brokers", "sessions", "clients", "controllers", "azs", "nodes")


@cache
def fields() -> tuple[Field, ...]:
    """Every place of a file where a value can stand."""
    found = [("file", key) for key in FILE_KEYS]
    found += [("topology", key) for key in TOPOLOGY] + [("network", key) for key in NETWORK]
    found += [("around", key) for key in AROUND]
    found += [(verb, key) for verb, one in VERBS.items() for key in (*one.keys, "")]
    found += [(f"wait: {key}", "") for key in WAIT_KEYS]
    found += [(f"expect: {subject}", key) for subject, keys in SUBJECTS.items() for key in keys]
    found += [(kind, name) for kind, names in SETTINGS.items() for name in names]
    return tuple(found)


@cache
def field_cases() -> tuple[tuple[Field, str], ...]:
    """Every field with every hostile value, in an order of chance.

    Of settings, which have readers of their own, every twentieth value.
    """
    pairs = [
        (field, value)
        for field in fields()
        for number, value in enumerate(HOSTILE)
        if field[0] not in SETTINGS or (number + len(field[1])) % 20 == 0
        if field != ("workload", "rate") or value not in ("32767", "32768", "65536")  # played one by one
    ]
    Random(20).shuffle(pairs)
    return tuple(pairs)


def scenario_text(number: int) -> str:
    """A file: of even numbers with one hostile value.

    Of odd ones with several, and faults of YAML.
    """
    chance = Random(number)
    if number % 2 == 0:
        field, value = field_cases()[number // 2 % len(field_cases())]
        return _File(chance).text(field, value)
    text = _File(chance, faults=True).text(None, "")
    return _marred(chance, text) if chance.random() < 0.15 else text


class _File:
    """One file under way. `faults`: values of no use may stand anywhere."""

    def __init__(self, chance: Random, faults: bool = False) -> None:
        self._chance = chance
        self._faults = 0.04 if faults else 0.0

    def text(self, field: Field | None, hostile: str) -> str:
        part, key = field or ("", "")
        lines = self._head(part, key, hostile)
        if part == "settings":
            lines.append(f"settings: {{{key}: {hostile}}}")
        lines += ["steps:", *(f"  - {step}" for step in self._steps(part, key, hostile))]
        lines += self._tail(part, key, hostile)
        return "\n".join(lines) + "\n"

    def _head(self, part: str, key: str, hostile: str) -> list[str]:
        given = {"id": "x", "title": "x", "kafka": self._good("kafka"), "topology": SMALL}
        if part == "topology":
            given["topology"] = f"{{{key}: {hostile}}}"
        if part == "network":
            given["network"] = f"{{{key}: {hostile}}}"
        if part == "file":
            given[key] = hostile
        if self._faults:
            for name in ("article", "settings", "settings_by_broker", "network", "speed", "races", "as_recorded"):
                if self._chance.random() < 0.1:
                    given[name] = self._value(name, "file")
            for name in tuple(given):
                if self._chance.random() < self._faults / 4:
                    given[name] = self._chance.choice(HOSTILE)
                elif self._chance.random() < self._faults / 8:
                    del given[name]
        given.pop("steps", "")
        return [f"{name}: {value}" for name, value in given.items() if name not in ("expectations",)]

    def _steps(self, part: str, key: str, hostile: str) -> list[str]:
        if (part, key) == ("file", "steps"):
            return [hostile]
        chance = self._chance
        steps = ["start: 0", "start: 1", "create-topic: {topic: t, assignment: [[0, 1], [1, 0]]}"]
        if chance.random() < 0.5:
            steps.append("produce: {client: client-0, values: [a, b], acks: all}")
        if part == "stop-workload" or (self._faults and chance.random() < 0.2):
            steps.append("workload: {name: w, rate: 5}")
        if part == "await" or (self._faults and chance.random() < 0.2):
            steps += ["{produce: {broker: 0, values: [c], acks: 1}, background: b}"]
        if part in ("start", "lose-unsynced", "lose-disk"):
            steps.append("kill: 1")
        if part == "resume":
            steps.append("pause: broker-1")
        if part in VERBS:
            steps.append(self._verb(part, {key: hostile}))
        elif part == "around":
            steps.append(f"{{sleep: 0.1, {key}: {hostile}}}")
        elif part.startswith("wait: "):
            steps.append(f"wait: {{until: {{{part.removeprefix('wait: ')}: {hostile}}}, limit_s: 1}}")
        elif part == "library settings":
            steps.append(f"library-produce: {{values: [a], settings: {{{key}: {hostile}}}}}")
        for _ in range(chance.randint(1, 5) if self._faults else chance.randint(0, 1)):
            steps.append(self._verb(chance.choice(list(VERBS)), {}))
        if self._faults and chance.random() < self._faults:
            steps.insert(chance.randrange(len(steps)), chance.choice(HOSTILE))
        return steps

    def _tail(self, part: str, key: str, hostile: str) -> list[str]:
        if part.startswith("expect: "):
            subject = part.removeprefix("expect: ")
            return ["expectations:", f"  - {{text: x, {subject}: {self._expected(subject, {key: hostile})}}}"]
        if (part, key) == ("file", "expectations"):
            return [f"expectations: {hostile}"]
        if self._faults and self._chance.random() < 0.4:
            subject = self._chance.choice(list(SUBJECTS))
            return ["expectations:", f"  - {{text: x, {subject}: {self._expected(subject, {})}}}"]
        return []

    def _verb(self, name: str, given: dict[str, str]) -> str:
        """`given` "": in the place of all keys. A verb that is bare has none."""
        chance, verb = self._chance, VERBS[name]
        if "" in given:
            return f"{name}: {given['']}"
        optional = [key for key in verb.keys if key not in verb.required]
        drawn = [key for key in optional if chance.random() < min(0.5, 2.0 / len(optional))]
        values = {key: self._value(key, name) for key in (*verb.required, *drawn)} | given
        values = {key: value for key, value in values.items() if value or key in given}
        if name == "produce" and not {"broker", "client"} & set(values):
            values["client"] = "client-0"
        if "az" in verb.keys and "opened_by" in verb.keys and not set(given) & set(LINK_KEYS):
            values = {key: value for key, value in values.items() if key not in LINK_KEYS} | chance.choice(LINKS)
        if "az" in verb.keys and "to" in given:
            values["from"] = "0"
        elif {"from", "opened_by"} & set(given) and "to" in verb.keys:
            values["to"] = "1"
        for one, other in (("assignment", ("partitions", "replicas")), ("broker", ("client", "keys", "settings"))):
            if one in values and name in ("create-topic", "produce"):
                values = {key: value for key, value in values.items() if key not in other or key in given}
        if name == "produce" and {"batch", "compression"} & set(values):
            kept = ("broker", "values", "acks", "timeout_ms", "partition", "batch", "compression")
            values = {key: value for key, value in values.items() if key in kept or key in given} | {"broker": "0"}
            values.pop("client", "")
        if name == "wait" and "limit_s" not in given:
            values["limit_s"] = "2"
        return self._keys(name, values)

    def _expected(self, subject: str, given: dict[str, str]) -> str:
        chance = self._chance
        drawn = {key: self._value(key, subject) for key in SUBJECTS[subject] if chance.random() < 0.6} | given
        return self._keys("", drawn)

    def _keys(self, name: str, values: dict[str, str]) -> str:
        pairs = list(values.items())
        if self._faults and pairs and self._chance.random() < self._faults:
            pairs.append(self._chance.choice((pairs[0], ("no_such_key", "1"), ("valeus", "[a]"), ("'\\0'", "1"))))
        if self._faults and len(pairs) > 1 and self._chance.random() < self._faults / 2:
            pairs.pop(self._chance.randrange(len(pairs)))
        inner = "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        if not name:
            return inner
        return f"{name}: {inner}" if pairs else name

    def _value(self, key: str, of: str = "") -> str:
        if self._faults and self._chance.random() < self._faults:
            return self._chance.choice(self._chance.choice((HOSTILE, NUMBERS)))
        return self._good(key, of)

    def _good(self, key: str, of: str = "file") -> str:
        return self._chance.choice(GOOD_OF.get((of, key), GOOD.get(key, ("1",))))


def _marred(chance: Random, text: str) -> str:
    """The text with one fault of YAML or of its bytes."""
    lines = text.splitlines()
    at = chance.randrange(len(lines))
    insertions: Sequence[str] = (
        "---", "...", "? [a]", "  - *a", "  - &a [*a]", "\t- heal", "%YAML 9.9", "steps: []", "id: y", "<<: {id: z}",
        "  -", "  - {}", "  - []", "  - [heal]", "- heal", "  - ? heal", "\x07", "\x00", "\ufeff", "\u2028", "\x85",
        "\ud800",
        "{" * 50, "[" * 5000, "# " + "x" * 100_000, "  - sleep: 1 # " * 3, "'", '"', "|", ">", "  - heal: !!map",
        "x" * 1_100_000, "  - repeat: {times: 10000, steps: [repeat: {times: 10000, steps: [heal]}]}",
        "  - repeat: {times: 0, steps: []}", "l0: &l0 [" + ", ".join("x" * 20) + "]",
        "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" if n else "l0: &l0 [x]" for n in range(9)),
        "\n".join("  - heal" for _ in range(10_001)), "\n".join(f"  - wait: w{n}" for n in range(200)),
    )  # fmt: skip
    match chance.randrange(4):
        case 0:
            lines.insert(at, chance.choice(insertions))
        case 1:
            del lines[at]
        case 2:
            lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
        case _:
            lines[at] = " " * chance.randrange(4) + lines[at]
    return chance.choice(("\n", "\n", "\n", "\r\n", "\r")).join(lines) + "\n"
