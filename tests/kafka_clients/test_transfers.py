"""An application that transfers between two accounts, through cuts at random moments.

Each transfer is one transaction of librdkafka: a debit in partition 0 and a credit in partition 1.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

import faultline
from tests.patience import HANGS_S, PATIENCE_S

pytestmark = [pytest.mark.network, pytest.mark.timeout(HANGS_S)]

LIMIT_S = PATIENCE_S
SETTINGS = {
    "zookeeper.session.timeout.ms": 2_000, "replica.lag.time.max.ms": 2_000, "min.insync.replicas": 2,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
    # an idle coordinator tries a failed Complete record again after request.timeout.ms (semantics 12.3)
    "request.timeout.ms": 3_000,
}  # fmt: skip
CLIENT = {"transaction.timeout.ms": 10_000, "socket.timeout.ms": 4_000, "log_level": 0, "linger.ms": 0}
CUT_S = (0.5, 3.0)
BETWEEN_CUTS = 5
"""Transfers that are done between two cuts."""
AZS = ("az-0", "az-1", "az-2")


class Ledger:
    """The application's own account of its transfers.

    `done` were acknowledged; `begun` may have happened.
    """

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self.done: set[str] = set()

    def problems(self, debits: list[str], credits_: list[str]) -> list[str]:
        """Differences from what a reader found."""
        taken, given = Counter(debits), Counter(credits_)
        found = [f"transfer {one} is torn" for one in sorted(taken.keys() ^ given.keys())]
        found += [f"transfer {one} is lost" for one in sorted(self.done - taken.keys() - given.keys())]
        found += [f"transfer {one} was made twice" for one in sorted((taken | given).keys()) if taken[one] > 1]
        return found + [f"transfer {one} was never begun" for one in sorted((taken | given).keys() - self.begun)]


class Transfers:
    """The application.

    It repeats a commit without an outcome, aborts where it must, and begins anew after any other error.
    """

    def __init__(self, servers: str, topic: str, ledger: Ledger) -> None:
        self._about = {"bootstrap.servers": servers, "transactional.id": "transfers", **CLIENT}
        self._topic = topic
        self._ledger = ledger
        self._producer = self._made()

    def _made(self) -> Producer:
        producer = Producer(self._about)
        _until_done(lambda: producer.init_transactions(LIMIT_S))
        return producer

    def transfer(self, name: str) -> None:
        """One transfer, tried until it is known to be done or not done."""
        producer = self._producer
        self._ledger.begun.add(name)
        try:
            producer.begin_transaction()
            for partition in (0, 1):
                producer.produce(self._topic, name, partition=partition)
            _until_done(lambda: producer.commit_transaction(LIMIT_S))
            self._ledger.done.add(name)
        except KafkaException as raised:
            if raised.args[0].txn_requires_abort() and self._aborts():
                return
            self._producer = self._made()

    def _aborts(self) -> bool:
        """Whether the transaction could be aborted; if not, a new producer of the same id ends it."""
        try:
            _until_done(lambda: self._producer.abort_transaction(LIMIT_S))
        except KafkaException:
            return False
        return True


def _until_done(call: Callable[[], None]) -> None:
    """Repeat a call of librdkafka while its error is retriable."""
    until = time.monotonic() + LIMIT_S
    while True:
        try:
            return call()
        except KafkaException as raised:
            if not raised.args[0].retriable() or time.monotonic() > until:
                raise


def read(servers: str, topic: str, partition: int) -> list[str]:
    """All values at read_committed, up to the end."""
    about = {"bootstrap.servers": servers, "group.id": "unused", "isolation.level": "read_committed", "log_level": 0}
    consumer = Consumer(about | {"enable.auto.commit": False})
    place = TopicPartition(topic, partition, 0)
    _, end = consumer.get_watermark_offsets(place, LIMIT_S, cached=False)
    consumer.assign([place])
    found = []
    until = time.monotonic() + LIMIT_S
    while consumer.position([place])[0].offset < end:
        assert time.monotonic() < until
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            found.append((message.value() or b"").decode())
    consumer.close()
    return found


@pytest.fixture
def transferring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[faultline.Cluster]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    with faultline.Cluster(kafka_version="2.8", settings=SETTINGS, directory=tmp_path / "run") as cluster:
        cluster.create_topic("accounts", assignment=[[0, 1, 2], [1, 2, 0]])
        yield cluster


@pytest.mark.parametrize("cuts", [3, pytest.param(50, marks=pytest.mark.long)])
def test_sums_are_conserved_through_cuts(transferring: faultline.Cluster, cuts: int) -> None:
    servers = transferring.bootstrap_servers()
    ledger, chance = Ledger(), random.Random(cuts)
    transfers = Transfers(servers, "accounts", ledger)
    over = threading.Event()

    def disturb() -> None:
        for _ in range(cuts):
            transferring.cut(chance.choice(AZS))
            over.wait(chance.uniform(*CUT_S))
            transferring.heal()
            done, until = len(ledger.done), time.monotonic() + LIMIT_S
            while len(ledger.done) < done + BETWEEN_CUTS and time.monotonic() < until:
                over.wait(0.05)
        over.set()

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    number = 0
    while not over.is_set():
        transfers.transfer(str(number))
        number += 1
    disturbing.join()
    transfers.transfer("last")
    until = time.monotonic() + LIMIT_S
    while problems := ledger.problems(read(servers, "accounts", 0), read(servers, "accounts", 1)):
        assert time.monotonic() < until, problems  # the last markers come after the response to EndTxn
    assert len(ledger.done) > BETWEEN_CUTS * cuts


def test_a_ledger_names_what_a_broken_application_did() -> None:
    ledger = Ledger()
    ledger.begun, ledger.done = {"a", "b", "c", "d"}, {"a", "b", "c"}
    assert ledger.problems(["a", "b", "c"], ["a", "b", "c"]) == []
    assert ledger.problems(["a", "b", "c", "d"], ["a", "b", "c", "d"]) == [], "unknown may be done"
    assert ledger.problems(["a", "b"], ["a", "b"]) == ["transfer c is lost"]
    assert ledger.problems(["a", "b", "c", "d"], ["a", "b", "c"]) == ["transfer d is torn"]
    assert ledger.problems(["a", "b", "b", "c"], ["a", "b", "b", "c"]) == ["transfer b was made twice"]
    assert ledger.problems(["a", "b", "c", "x"], ["a", "b", "c", "x"]) == ["transfer x was never begun"]
