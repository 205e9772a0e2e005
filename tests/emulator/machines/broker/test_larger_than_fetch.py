"""A record larger than a fetch: up to FETCH version 2 no reader gets past it.
KIP-74, semantics 1.9.
"""

import pytest

from protocol.events import FetcherChanged
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from verification.broker_bench import T0, Bench, batch, state

OTHER = ("t", 1)
BIG = "b" * 500


def leader(version: str = "0.8.2", ibp: str | None = None) -> Bench:
    """t-0 has a, BIG and c; all of it is below the high watermark."""
    bench = Bench(version, ibp=ibp)
    bench.lead(isr=(0,))
    for text in ("a", BIG, "c"):
        bench.produce(text)
    assert bench.log.high_watermark == 3
    return bench


def fetched(bench: Bench, version: int, offset: int, max_bytes: int = 400, replica: int = -1) -> FetchedPartition:
    fetch = FetchRequest(BrokerId(replica), 500, 1, 10_485_760, [FetchPartition(*T0, Offset(offset), max_bytes)])
    return bench.fetched(bench.ask(fetch, version))


@pytest.mark.parametrize("replica", [-1, 1])
@pytest.mark.parametrize("version", [0, 1, 2, 3, 12])
def test_the_version_of_the_request_determines_whether_there_is_progress(version: int, replica: int) -> None:
    """And the answer to it comes at once: in Kafka a part of the record is there."""
    bench = leader("2.8")
    got = fetched(bench, version, 1, replica=replica)
    assert got.error == 0 and got.high_watermark == 3
    assert (bool(got.records), got.incomplete) == ((False, True) if version < 3 else (True, False))


def test_what_fits_is_read_up_to_what_does_not() -> None:
    bench = leader()
    got = fetched(bench, 0, 0)
    assert got.records == batch("a", magic=0) and not got.incomplete
    assert not fetched(bench, 0, 2).incomplete, "c fits"
    assert not fetched(bench, 0, 1, max_bytes=1_000).incomplete
    nothing = bench.ask(FetchRequest(CONSUMER_REPLICA_ID, 500, 1, 10_485_760, [FetchPartition(*T0, Offset(3), 400)]), 0)
    assert bench.answers(nothing) == [], "at the end there is nothing, and it waits"


def test_each_partition_has_a_limit_of_its_own_and_there_is_none_for_all() -> None:
    bench = leader()
    bench.leader_and_isr(state(0, isr=(0,), topic_partition=OTHER))
    log = bench.broker.replicas.logs[OTHER]
    bench.do(lambda: log.append_as_leader(batch("z", magic=0), LeaderEpoch(0)))
    partitions = [FetchPartition(*T0, Offset(1), 400), FetchPartition(*OTHER, Offset(0), 400)]
    for version, both in ((0, True), (3, False)):
        answer = bench.answer(bench.ask(FetchRequest(BrokerId(1), 500, 1, 10, partitions), version), FetchResponse)
        assert [one.incomplete for one in answer.partitions] == [version == 0, False]
        assert bool(answer.partitions[1].records) == both


@pytest.mark.parametrize(("version", "ibp", "sent"), [("0.8.2", None, 0), ("2.8", "0.8.2", 0), ("0.10.2", None, 3)])
def test_a_follower_repeats_its_fetch_again_and_again(version: str, ibp: str | None, sent: int) -> None:
    bench = Bench(version, ibp=ibp)
    bench.follow(1)
    bench.advance(0.0)
    fetcher = bench.opened("fetcher")[-1]
    bench.establish(fetcher)
    first = bench.last_sent(fetcher)
    assert isinstance(first.message, FetchRequest) and first.version == sent
    bench.respond(fetcher, FetchResponse([FetchedPartition(*T0, 0, Offset(0), incomplete=sent < 3)]))
    delayed = [e.reason for e in bench.events(FetcherChanged) if e.change == "delayed"]
    assert delayed == (["a message larger than replica.fetch.max.bytes"] if sent < 3 else [])
    assert bench.log.log_end == 0
    before = len(bench.answers(fetcher))
    bench.advance(1_000.0)
    assert len(bench.answers(fetcher)) == before + (sent < 3), "it asks again after replica.fetch.backoff.ms"
