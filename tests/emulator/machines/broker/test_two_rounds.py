"""A leader and a follower, round by round (scenario two-round-high-watermark).

Both are real brokers; the test carries the frames between them, one at a time. What is compared is the whole of it:
(leader's log end, leader's high watermark, follower's log end, follower's high watermark, the follower's log end as
the leader knows it). Semantics 1.2, 1.5.
"""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.replication_messages import FetchRequest, FetchResponse
from protocol.versions import LADDER
from verification.broker_bench import Bench

ROUNDS_MAX = 10
WAIT_MS = 500.0

AT_ONCE = ("2.4", "2.5")
"""Versions that answer an idle fetch at once to a follower with an older high watermark."""

versions = st.sampled_from(LADDER)
counts = st.integers(1, 6)


class Known(NamedTuple):
    """Log ends and high watermarks."""

    leader_end: int
    leader_hw: int
    follower_end: int
    follower_hw: int
    remote_end: int


class Pair:
    """broker-0 leads t-0, broker-1 follows; both are in the ISR, and nothing is written."""

    def __init__(self, version: str) -> None:
        self.leader = Bench(version)
        self.follower = Bench(version, number=1)
        self.leader.lead(0, isr=(0, 1))
        self.follower.follow(leader=0, epoch=0)
        self.follower.advance(0.0)
        self.link = self.follower.opened("fetcher")[-1]
        self.follower.establish(self.link)
        self.from_follower = self.leader.connect("broker-1", "fetcher")
        self.carried = 0
        self._settle_epochs()

    def _settle_epochs(self) -> None:
        """Answer the epoch request of versions that send one first.
        Nothing is there, nothing is cut.
        """
        for _ in range(ROUNDS_MAX):
            if isinstance(self.follower.last_sent(self.link).message, FetchRequest):
                return
            self.ask()
            assert self.answer()
        raise AssertionError("the follower does not come to fetch")

    def write(self, count: int) -> None:
        """`count` records in one batch."""
        if count:
            self.leader.produced(self.leader.produce(*(f"v{number}" for number in range(count))))

    def ask(self) -> None:
        """The follower's request arrives at the leader."""
        sent = self.follower.last_sent(self.link)
        self.leader.send(self.from_follower, sent.message, sent.version)

    def answer(self) -> bool:
        """The leader's answer, if there is one by now, arrives at the follower."""
        answers = self.leader.answers(self.from_follower)
        if len(answers) == self.carried:
            return False
        self.carried += 1
        (answer,) = answers[self.carried - 1 :]
        assert not isinstance(answer, FetchResponse) or answer.partitions[0].error == ErrorCode.NONE
        self.follower.respond(self.link, answer)
        return True

    def round(self) -> bool:
        """Both, at once; False: the fetch is parked."""
        self.ask()
        return self.answer()

    @property
    def known(self) -> Known:
        led, followed = self.leader.log, self.follower.log
        remote = max(0, self.leader.partition.remotes[BrokerId(1)].log_end)
        return Known(led.log_end, led.high_watermark, followed.log_end, followed.high_watermark, remote)


@settings(max_examples=60, deadline=None)
@given(version=versions, n=counts, m=counts)
def test_the_two_rounds(version: str, n: int, m: int) -> None:
    """The leader notes the fetch, and answers with the high watermark of before it."""
    pair = Pair(version)
    pair.write(n)
    assert pair.known == (n, 0, 0, 0, 0)
    assert pair.round()
    assert pair.known == (n, 0, n, 0, 0)
    pair.write(m)
    assert pair.known == (n + m, 0, n, 0, 0)
    assert pair.round()
    assert pair.known == (n + m, n, n + m, 0, n)
    # The third round has nothing to bring. It is parked, or where the follower was told too little, answered at once.
    at_once = pair.round()
    assert at_once is (version in AT_ONCE)
    if at_once:
        assert pair.known == (n + m, n + m, n + m, n, n + m)
        assert pair.round()
    else:
        assert pair.known == (n + m, n + m, n + m, 0, n + m)
        pair.leader.advance(WAIT_MS)
        assert pair.answer()
    assert pair.known == (n + m, n + m, n + m, n + m, n + m)


@settings(max_examples=60, deadline=None)
@given(version=versions, n=counts, m=counts)
def test_a_second_round_that_was_parked_brings_the_new_high_watermark(version: str, n: int, m: int) -> None:
    """It came before the m records, and is read again when they do.
    So one round less is needed, in every version. In 2.4 and 2.5 it is read again at once, for it has moved the high
    watermark.
    """
    pair = Pair(version)
    pair.write(n)
    assert pair.round()
    at_once = pair.round()
    assert at_once is (version in AT_ONCE)
    if at_once:
        assert pair.known == (n, n, n, n, n)
        assert pair.round(), "what was noted as told is what was read first"
        assert not pair.round()
        pair.write(m)
        assert pair.answer()
        assert pair.known == (n + m, n, n + m, n, n)
        return
    assert pair.known == (n, n, n, 0, n)
    pair.write(m)
    assert pair.answer()
    assert pair.known == (n + m, n, n + m, n, n)


@settings(max_examples=40, deadline=None)
@given(version=versions, writes=st.lists(st.integers(0, 3), max_size=8))
def test_no_high_watermark_runs_ahead_and_both_arrive(version: str, writes: list[int]) -> None:
    """With any writes between the rounds: follower's at most leader's at most both log ends.
    At rest all are alike.
    """
    pair = Pair(version)
    for count in writes:
        pair.write(count)
        pair.ask()
        known = pair.known
        assert known.follower_hw <= known.leader_hw <= min(known.leader_end, known.remote_end) <= known.follower_end
        if not pair.answer():
            pair.leader.advance(WAIT_MS)
            assert pair.answer()
    for _ in range(4):
        if not pair.round():
            pair.leader.advance(WAIT_MS)
            assert pair.answer()
    total = sum(writes)
    assert pair.known == (total,) * 5
