"""Partitions of records: the numbers of Kafka's own tests.
Also the promises of the two ways without a key.
"""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.machines.client.blocked_sends import ANY_PARTITION
from emulator.machines.client.client_settings import producer_settings
from emulator.machines.client.partitioner import Keyless, Partitioner, murmur2, partition_of_key
from protocol.chance import Chance
from protocol.records.format import read_records
from tests.emulator.machines.client.test_producer import Bench


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(data: bytes, expected: int) -> None:
    """UtilsTest.testMurmur2 of Kafka 2.x."""
    assert murmur2(data) == expected


def test_a_key_has_one_partition_led_or_not() -> None:
    """Semantics 6. -973932308 without its sign bit is 1173551340."""
    assert partition_of_key(b"21", 100) == 40
    for available in ([], [1], [0, 1, 2]):
        chosen = [Partitioner("sticky", Chance(seed)).choose("t", b"21", 100, available) for seed in range(5)]
        assert chosen == [40] * 5


@given(st.binary(max_size=40), st.integers(1, 1000))
def test_every_key_has_a_partition(key: bytes, partitions: int) -> None:
    assert 0 <= partition_of_key(key, partitions) < partitions


def test_in_turn_over_those_with_a_leader() -> None:
    """Semantics 6: up to 2.3. Each topic has its own turn."""
    partitioner = Partitioner("round-robin", Chance(3))
    first = [partitioner.choose("t", None, 6, [0, 2, 5]) for _ in range(6)]
    assert first[:3] == first[3:] and sorted(first[:3]) == [0, 2, 5]
    assert [partitioner.batch_begins("t", number, 6, [0, 2, 5]) for number in (0, 2, 5)] == [0, 2, 5]
    others = [partitioner.choose("u", None, 2, [0, 1]) for _ in range(4)]
    assert Counter(others) == {0: 2, 1: 2}


def test_a_record_has_a_partition_without_any_leader() -> None:
    for keyless in ("round-robin", "sticky"):
        chosen = {Partitioner(keyless, Chance(seed)).choose("t", None, 4, []) for seed in range(60)}
        assert chosen == {0, 1, 2, 3}


def test_one_partition_until_a_batch_begins() -> None:
    """Semantics 6, KIP-480: another than the last, drawn among those with a leader."""
    partitioner = Partitioner("sticky", Chance(3))
    kept = {partitioner.choose("t", None, 6, [0, 2, 5]) for _ in range(20)}
    assert len(kept) == 1
    (last,) = kept
    for _ in range(20):
        now = partitioner.batch_begins("t", last, 6, [0, 2, 5])
        assert now != last and now in (0, 2, 5)
        assert partitioner.choose("t", None, 6, [0, 2, 5]) == now
        last = now
    assert partitioner.batch_begins("t", (last + 1) % 6, 6, [0, 2, 5]) == last, (
        "of a batch elsewhere it takes no notice"
    )
    assert Partitioner("sticky", Chance(1)).choose("t", None, 3, [2]) == 2


@pytest.mark.parametrize(("version", "keyless"), [("0.10.2", "round-robin"), ("2.3", "round-robin"), ("2.4", "sticky")])
def test_which_way_follows_the_version(version: str, keyless: Keyless) -> None:
    assert producer_settings(version).keyless == keyless


def bench(version: str, linger_ms: int = 0) -> Bench:
    made = Bench(version=version, linger_ms=linger_ms)
    for partition in range(4):
        made.cluster.add(partition=partition)
    return made


def send(made: Bench, keys: list[bytes | None]) -> list[int]:
    """The partitions of records that are sent together, in order of sending."""
    for number, key in enumerate(keys):
        made.producer.send(
            made.cluster.now, made.cluster.out, "t", ANY_PARTITION, b"%d" % number,
            lambda _n, _o, sent: made.sent.append(sent), key,
        )  # fmt: skip
    made.cluster.flush()
    made.cluster.run(1_000)
    assert all(sent.outcome == "ok" for sent in made.sent)
    return [sent.partition for sent in sorted(made.sent, key=lambda sent: int(sent.value))]


@pytest.mark.parametrize("version", ["0.10.2", "2.8"])
def test_a_producer_sends_each_key_to_its_partition_and_the_key_with_it(version: str) -> None:
    """Semantics 6."""
    keys = [b"key-%d" % number for number in (0, 1, 2, 3, 4, 0, 1)]
    made = bench(version)
    partitions = send(made, list(keys))
    assert partitions == [partition_of_key(key, 4) for key in keys]
    assert len(set(partitions)) > 1
    sent = [p for _, _, request in made.produce_requests() for p in request.partitions]
    for each in sent:
        keys_here = {key for key, partition in zip(keys, partitions, strict=True) if partition == each.partition}
        assert {key for key in keys if key in each.records} == keys_here


def test_records_keep_their_keys_beside_records_without() -> None:
    made = bench("2.8", linger_ms=5)
    for key in (b"21", None):
        made.producer.send(made.cluster.now, made.cluster.out, "t", 0, b"v", lambda *_: None, key)
    made.cluster.run(100)
    (_, _, request) = made.produce_requests()[0]
    records = read_records(request.partitions[0].records)
    assert [(record.key, record.value) for record in records] == [(b"21", b"v"), (None, b"v")]


def test_without_keys_records_go_in_turn_or_together() -> None:
    """Semantics 6: four records are in four partitions, or in one."""
    assert sorted(send(bench("2.3", linger_ms=5), [None] * 4)) == [0, 1, 2, 3]
    assert len(set(send(bench("2.4", linger_ms=5), [None] * 4))) == 1
