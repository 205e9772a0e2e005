"""Bad scenario files: each fault is one line with its place and the nearest valid word.

All faults are found at once.
"""

import pickle
from textwrap import dedent

import pytest

from emulator.scenario.load import ScenarioErrors, load_scenario


def errors(text: str) -> list[str]:
    with pytest.raises(ScenarioErrors) as raised:
        load_scenario(dedent(text), "f.yaml")
    return str(raised.value).splitlines()


def step_errors(step: str) -> list[str]:
    """Errors of a file whose only fault is in one step, on line 5.

    A topic `t` and a background step `w` are known.
    """
    head = "id: x\ntitle: x\nsteps:\n  - {create-topic: {topic: t, assignment: [0, 1]}}\n"
    return errors(f"{head}  - {step}\n  - {{background: w, sleep: 1}}\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml:1:1: empty"),
        ("- a\n- b\n", "f.yaml:1:1: expected a scenario as keys with values, got a list of 2"),
        ("id: [x\n", "f.yaml:2:1: not YAML: expected ',' or ']', but got '<stream end>'"),
        ("id: x\ntitle: x\nsteps: []\nid: y\n", "f.yaml:4:1: 'id' is given twice"),
        ("id: x\ntitle: x\n", "f.yaml:1:1: a scenario needs 'steps'"),
        ("id: x\ntitle: x\nsteps: []\nsetings: {}\n",
         "f.yaml:4:1: unknown key 'setings' in a scenario; nearest: settings"),
        ("id: x\ntitle: x\nsteps: {}\n", "f.yaml:3:8: expected a list of steps, got keys with values"),
        ("id: ~\ntitle: x\nsteps: []\n", "f.yaml:1:5: expected a text, got nothing"),
        ("id: [a, b]\ntitle: x\nsteps: []\n", "f.yaml:1:5: expected a text, got a list of 2"),
        (
            "id: x\ntitle: x\nsteps: []\nkafka: [2.6, 2.9]\n",
            "f.yaml:4:14: unknown Kafka version '2.9'; one of: 0.8.2, 0.10.2, 0.11, 1.0, 1.1, 2.0.0, 2.0.1, 2.1, 2.2, "
            "2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7, 3.8, 3.9, 4.0, 4.1, 4.2, 4.3, 4.4",
        ),
        (
            "id: x\ntitle: x\nsteps: []\nsettings:\n  replica.lag.time.max: 5\n",
            "f.yaml:5:3: unknown setting 'replica.lag.time.max'; nearest: replica.lag.time.max.ms",
        ),
        (
            "id: x\ntitle: x\nsteps: []\nsettings:\n  replica.lag.time.max.ms: 10 s\n",
            "f.yaml:5:28: replica.lag.time.max.ms: expected a whole number of ms, got '10 s'",
        ),
        (
            "id: x\ntitle: x\nsteps: []\nsettings: {min.insync.replicas: 0}\n",
            "f.yaml:4:33: min.insync.replicas: expected a whole number of replicas, at least 1, got 0",
        ),
        (
            "id: x\ntitle: x\nsteps: []\nsettings_by_broker: {7: {}}\n",
            "f.yaml:4:22: unknown broker '7'; nearest: broker-2",
        ),
        ("id: x\ntitle: x\nsteps: []\nspeed: fast\n", "f.yaml:4:8: expected speed as a number, got 'fast'"),
        (
            "id: x\ntitle: x\nsteps: []\nnetwork: {recovery: never}\n",
            "f.yaml:4:21: unknown recovery 'never'; one of: rto, instant",
        ),
        (
            "id: x\ntitle: x\nsteps: []\ntopology: {sessions: 2}\n",
            "f.yaml:4:22: a session ensemble has 1, 3 or 5 servers",
        ),
        (
            "id: x\ntitle: x\nsteps: []\ntopology: {nodes: {brocker-0: {az: az-0}}}\n",
            "f.yaml:4:20: a node is called after its role and number, as broker-0; got 'brocker-0'; nearest: broker",
        ),
        (
            "id: x\ntitle: x\nsteps: []\ntopology: {nodes: {broker-1000: {az: az-0}}}\n",
            "f.yaml:4:20: a broker's number is below 1000; dedicated controllers have those from there",
        ),
        (
            "id: x\ntitle: x\nsteps:\n  - repeat: {times: 200, steps: [{repeat: {times: 100, steps: [{sleep: 1}]}}]}\n",
            "f.yaml:4:3: more than 10000 steps, repeats counted",
        ),
    ],
)  # fmt: skip
def test_bad_file(text: str, message: str) -> None:
    assert errors(text) == [message]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("prodce: {}", "5:5: unknown verb 'prodce'; nearest: produce"),
        ("heel", "5:5: unknown verb 'heel'; nearest: heal"),
        ("start", "5:5: start needs 'node'"),
        ("[start, 0]", "5:5: expected a step as keys with values, got a list of 2"),
        ("{start: 0, kill: 1}", "5:5: a step has one verb; found start, kill"),
        ("{at_s: 3}", "5:5: a step has one verb; found none"),
        ("{at_s: soon, kill: 1}", "5:12: expected at_s as a number, got 'soon'"),
        ("workload: {name: w, rate: 0}", "5:31: a rate is above 0 records per second"),
        ("workload: {name: w, group: g, consumers: false}",
         "5:32: its consumers are members of a group, and there are none: consumers is false"),
        ("workload: {name: w, producers: false, rate: 3}",
         "5:49: rate is the producers', and there are none: producers is false"),
        ("workload: {name: w, producers: false, consumers: false}",
         "5:15: a workload without producers and consumers does nothing"),
        ("workload: {name: w, topic: u}", "5:32: unknown topic 'u'; one of: t"),
        ("workload: {name: w, azs: az-7}", "5:30: unknown AZ 'az-7'; nearest: az-2"),
        ("workload: {name: w, settings: {linger: 1}}",
         "5:36: not a producer's setting: 'linger'; nearest: linger.ms"),
        ("stop-workload: w", "5:20: unknown workload 'w'"),
        ("{background: b, workload: w2}", "5:21: workload cannot run in the background"),
        ("alter-topic: {topic: t}", "5:18: alter-topic needs 'settings' to set, or names to 'remove'"),
        ("alter-topic: {topic: t, remove: flush}", "5:37: unknown topic setting 'flush'; nearest: flush.ms"),
        ("alter-broker: {broker: 1}", "5:19: alter-broker needs 'settings' to set, or names to 'remove'"),
        ("alter-broker: {broker: 7, settings: {num.io.threads: 9}}", "5:28: unknown broker '7'; nearest: broker-2"),
        ("alter-broker: {settings: {num.io.thread: 9}}",
         "5:31: not a broker's setting: 'num.io.thread'; nearest: num.io.threads"),
        ("alter-broker: {settings: {broker.id: 9}}", "5:31: broker.id cannot be altered while a broker runs"),
        ("alter-broker: {remove: log.dirs}", "5:28: log.dirs cannot be altered while a broker runs"),
        ("delete-topic: tt", "5:19: unknown topic 'tt'; nearest: t"),
        ("wait: {until: {deleted: u}}", "5:29: unknown topic 'u'; one of: t"),
        ("add-partitions: {topic: t, partitions: 1}",
         "5:44: t cannot have 1: it has 1 partitions, and can only have more"),
        ("add-partitions: {topic: t, partitions: 3, assignment: [[0]]}",
         "5:59: 1 lists of replicas for 2 new partitions"),
        ("reassign: {partitions: {t-7: [0]}}", "5:29: unknown partition 't-7'; nearest: t-0"),
        ("reassign: {partitions: {t-0: [[0], [1]]}}", "5:34: t-0 has one list of replicas"),
        ("kill: broker-9", "5:11: unknown node 'broker-9'; nearest: broker-2"),
        ("kill: {node: 0, hard: true}", "5:21: unknown key 'hard' in kill; one of: node"),
        ("cut: az-7", "5:10: unknown AZ 'az-7'; nearest: az-2"),
        ("cut: {link: [0]}", "5:17: a link has two ends: [broker-0, broker-1]"),
        ("cut: {link: [0, sesion-1]}", "5:21: unknown node or AZ 'sesion-1'; nearest: session-1"),
        ("cut: {az: 0, from: 1}", "5:10: which links? one of: az, link, opened_by with to, from with to"),
        ("cut: {az: 0, only: fetsh}", "5:24: unknown purpose or message type 'fetsh'; nearest: fetch"),
        ("cut: {az: 0, expects_traffic: maybe}", "5:35: expected expects_traffic as true or false, got 'maybe'"),
        ("delay: {az: 0}", "5:12: delay needs 'delay_ms'"),
        ("loss: {az: 0, share: 5}", "5:26: a loss is a share of frames above 0 and below 1, not 5"),
        ("produce: {broker: 0, values: [a]}", "5:14: produce needs 'acks'"),
        ("produce: {values: [a], acks: 1}",
         "5:14: produce needs 'broker' or 'client' (whose metadata then has the leader)"),
        ("produce: {broker: 0, values: [a], acks: most}", "5:45: unknown acks 'most'; one of: all, -1, 0, 1"),
        ("produce: {broker: 0, values: [a], acks: 1, retries: -1}",
         "5:57: expected retries as a whole number, 0 to 10000, got -1"),
        ("produce: {broker: 0, values: [[a]], acks: 1}", "5:35: expected a value, got a list of 1"),
        ("produce: {broker: 0, values: [a], acks: 1, timeout: 3}",
         "5:48: unknown key 'timeout' in produce; nearest: timeout_ms"),
        ("produce: {client: az-9, values: [a], acks: 1}", "5:23: unknown client or AZ 'az-9'; nearest: az-2"),
        ("produce: {broker: 0, values: [a], acks: 1, batch: one message set, retries: 3}",
         "5:81: retries does not go with one message set: it is tried once"),
        ("fetch: {broker: 0, partition: t-1}", "5:35: unknown partition 't-1'; nearest: t-0"),
        ("disk-error: {node: 0, directory: d1}",
         "5:38: broker-0 has one log directory, its disk; for more: log.dirs, as d0,d1"),
        ("disk-error: session-0", "5:17: unknown broker 'session-0'; one of: broker-0, broker-1, broker-2"),
        ("kill: {node: 0, directory: d1}", "5:21: unknown key 'directory' in kill; one of: node"),
        ("create-topic: {topic: u, assignment: [0, 3]}", "5:46: unknown broker '3'; nearest: broker-2"),
        ("create-topic: {topic: u, assignment: [0, 0]}", "5:42: a broker can hold one replica of a partition: [0, 0]"),
        ("create-topic: {topic: u, assignment: [0], settings: {min.insync: 2}}",
         "5:58: not a topic's setting: 'min.insync'; nearest: min.insync.replicas"),
        ("create-topic: {topic: u, partitions: 6, replicas: 4}",
         "5:55: expected replicas as a whole number, 1 to 3, got 4"),
        ("create-topic: {topic: u, partitions: 1001}",
         "5:42: expected partitions as a whole number, 1 to 1000, got 1001"),
        ("create-topic: {topic: u, assignment: [0], partitions: 1}",
         "5:19: an assignment determines the numbers of partitions and replicas; leave them out"),
        ("produce: {client: az-0, values: [a, b], keys: [a], acks: 1}", "5:51: 1 keys for 2 values"),
        ("produce: {broker: 0, values: [a], keys: [a], acks: 1}",
         "5:45: keys need a 'client' that finds the leader; leave out 'broker'"),
        ("produce: {broker: 0, values: [a], acks: 1, partition: any}",
         "5:59: unknown partition 'any'; one of: t-0"),
        ("record: partition-stat", "5:13: unknown thing to record 'partition-stat'; nearest: partition-state"),
        ("wait: new leder", "5:11: unknown condition 'new leder'; nearest: new leader"),
        ("wait: {until: {isr: [0], leder: 1}}", "5:30: unknown key 'leder' in a condition; nearest: leader"),
        ("wait: {until: {leads: {broker: 1}}}", "5:27: a view needs 'seen_by'"),
        ("wait: {until: {}}",
         "5:19: expected a condition: words (a leader, new leader, preferred leader, no leader, "
         "active controller, new controller, "
         "isr shrunk, isr restored, caught up, session service answers, every isr full) or keys (leader, isr, "
         "replicas, in_isr, controller, registered, unfenced, "
         "session_expired, leads, knows_leader, deleted, quiet_s, last_stable_offset, not, all, every)"),
        ("wait: {until: new leader, limit_s: 0x}", "5:40: expected limit_s as a number, got '0x'"),
        ("sleep: 2s", "5:12: expected seconds as a number, got '2s'"),
        ("await: w", "5:12: unknown background step 'w'"),
        ("{background: v, await: w}", "5:28: unknown background step 'w'"),
        ("repeat: {times: 0, steps: [heal]}", "5:21: expected times as a whole number, 1 to 10000, got 0"),
        ("repeat: {times: 2, steps: [heel]}", "5:32: unknown verb 'heel'; nearest: heal"),
        ("{background: r, repeat: {times: 2, steps: [heal]}}",
         "5:21: repeat cannot run in the background; a workload goes on beside the steps"),
    ],
)  # fmt: skip
def test_bad_step(step: str, message: str) -> None:
    assert step_errors(step) == [f"f.yaml:{message}"]


@pytest.mark.parametrize(
    ("expectation", "message"),
    [
        ("{attempts: {values: [a], error: 0}}", "5:5: an expectation needs 'text'"),
        ("{text: x}", "5:5: an expectation has one subject (attempts, transaction, fetch, consume, commit, committed, "
         "workload, "
         "metadata, list_offsets, wait, admin, snapshot, state, quorum, controller, partitions, isr_changes, check, "
         "measure); found none"),
        ("{text: x, partitions: {leaders_apart: -2}}",
         "5:43: expected a value as a whole number, at least -1, got -2"),
        ("{text: x, isr_changes: {broker: 0, change: grow, at_least: 1}}",
         "5:48: unknown change 'grow'; one of: shrink, expand"),
        ("{text: x, attempt: {}}", "5:15: unknown key 'attempt' in an expectation; nearest: attempts"),
        ("{text: x, attempts: {values: [a], error: NOT_LEADER}}",
         "5:46: unknown error 'NOT_LEADER'; nearest: NOT_LEADER_OR_FOLLOWER"),
        ("{text: x, attempts: {values: [a]}}",
         "5:25: attempts expects nothing; name one of broker, values, acks, error, "
         "offsets, tries"),
        ("{text: x, snapshot: {label: end, replicas: al, values: []}}",
         "5:48: unknown broker 'al'; one of: broker-0, broker-1, broker-2"),
        ("{text: x, snapshot: {label: end, replicas: all, epochs: [0]}}",
         "5:61: expected epochs as a list of [leader epoch, start offset]"),
        ("{text: x, check: {name: lost, verdict: held}}",
         "5:29: unknown check 'lost'; nearest: lost-acknowledged"),
        ("{text: x, kafka: 2.8, state: {leader: 0}}", "5:22: the scenario is not for Kafka 2.8; one of: 2.6"),
        ("{text: x, fetch: {broker: 0, nth: 0, error: 0}}", "5:39: expected nth as a whole number, at least 1, got 0"),
    ],
)  # fmt: skip
def test_bad_expectation(expectation: str, message: str) -> None:
    found = errors(f"id: x\ntitle: x\nsteps: []\nexpectations:\n  - {expectation}\n")
    assert f"f.yaml:{message}" in found


@pytest.mark.parametrize(
    ("race", "message"),
    [
        ("{name: r, rule: semantics 4.2}", "5:5: a race allows at least one substitution or adds at least one entry"),
        (
            "{name: r, rule: semantics 4.2, allows: []}",
            "5:5: a race allows at least one substitution or adds at least one entry",
        ),
        (
            "{name: r, rule: r, allows: [{of: time, where: {}, leaf: error, recorded: 0, instead: 6}]}",
            "5:38: unknown list of entries 'time'; nearest: timeline",
        ),
    ],
)
def test_bad_race(race: str, message: str) -> None:
    assert f"f.yaml:{message}" in errors(f"id: x\ntitle: x\nsteps: []\nraces:\n  - {race}\n")


def test_all_faults_are_found_at_once_in_the_order_of_the_file() -> None:
    assert errors(
        """\
        id: x
        title: x
        kafka: 5.0
        settings:
          replica.lag.tme.max.ms: 1
        steps:
          - start: 5
          - produce: {broker: 9, values: [a], acks: 7, retires: 1}
          - wait: {until: {not: {leader: 8}}, limit_s: x}
        expects_violations:
          - {check: duplicat, because: x}
        expects_exits:
          - {node: broker-5, because: x}
        """
    ) == [
        "f.yaml:3:8: unknown Kafka version '5.0'; one of: 0.8.2, 0.10.2, 0.11, 1.0, 1.1, 2.0.0, 2.0.1, 2.1, 2.2, "
        "2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7, 3.8, 3.9, 4.0, 4.1, 4.2, 4.3, 4.4",
        "f.yaml:5:3: unknown setting 'replica.lag.tme.max.ms'; nearest: replica.lag.time.max.ms",
        "f.yaml:7:12: unknown node '5'; nearest: broker-2",
        "f.yaml:8:23: unknown broker '9'; nearest: broker-2",
        "f.yaml:8:45: unknown acks '7'; one of: all, -1, 0, 1",
        "f.yaml:8:48: unknown key 'retires' in produce; nearest: retries",
        "f.yaml:9:34: unknown broker '8'; nearest: broker-2",
        "f.yaml:9:48: expected limit_s as a number, got 'x'",
        "f.yaml:11:13: unknown check 'duplicat'; nearest: duplicate",
        "f.yaml:13:12: unknown node 'broker-5'; nearest: broker-2",
    ]


def test_a_document_is_bounded() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for level in "bcdef":
        before = chr(ord(level) - 1)
        bomb += f"{level}: &{level} [{', '.join([f'*{before}'] * 10)}]\n"
    assert errors(bomb) == ["f.yaml:1:1: more than 100000 values"]
    assert errors("# " + "x" * 2**20) == ["f.yaml:1:1: larger than 1048576 bytes"]


def test_a_log_directory_is_one_of_the_brokers_own() -> None:
    text = """id: x
title: x
settings: {log.dirs: "d0,d1"}
settings_by_broker:
  1: {log.dirs: "disk-a, disk-b"}
steps:
  - disk-error: {node: 0, directory: d7}
  - disk-full: {node: 1, directory: d1}
  - lose-disk: {node: 1, directory: disk-c}
  - disk-error: {node: broker-1, directory: disk-b}
  - disk-full: {node: session-0, directory: d0}
"""
    with pytest.raises(ScenarioErrors) as raised:
        load_scenario(text, "f.yaml")
    assert str(raised.value).splitlines() == [
        "f.yaml:7:38: unknown log directory 'd7'; one of: d0, d1",
        "f.yaml:8:37: unknown log directory 'd1'; one of: disk-a, disk-b",
        "f.yaml:9:37: unknown log directory 'disk-c'; nearest: disk-b",
        "f.yaml:11:45: session-0 is no broker: it has no log directories",
    ]


def test_errors_cross_from_one_process_to_another() -> None:
    """A pool whose worker raises what cannot be read again waits for ever."""
    with pytest.raises(ScenarioErrors) as error:
        load_scenario("id: x\nstepz: []\n", "x.yaml")
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.problems) == (str(error.value), error.value.problems) and type(again) is ScenarioErrors
