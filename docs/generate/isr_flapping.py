"""docs/isr-flapping.md, from shipped_sweeps.json: a follower that leaves and joins the ISR."""

from collections.abc import Iterator
from pathlib import Path

from docs.generate.markdown_tables import code, notice, table
from docs.generate.swept import SOURCE, Cell, cells, seconds

_HEAD = """# A follower in and out of the ISR

How patient is a leader with a follower that is behind? `replica.lag.time.max.ms` says so, and up to 0.8.2
`replica.lag.max.messages` besides. Too little of it, and a healthy follower is thrown out and taken back, again and
again; with much of it, writes with acks=all wait for the slow one. Each row is one simulated run; the same as
sweeps ([sweeps](sweeps.md)), and one row again:

```
faultline sweep isr-lag-time
faultline sweep isr-flapping
{replay}
```

## By time

Scenario [isr-stalls](catalogue.md#isr-stalls): two replicas; what the follower asks for is held up for 6 s, four times.
A client writes twice a second with acks=all. *Longest wait*: of a write, from its send to its end. *Reordered*: records
that stand in the log behind one that was sent later.
"""

_TIME_WORDS = """
- A stall that is longer than the lag time costs a shrink and an expansion each ({flaps} of each in four stalls): the
  leader looks every half of it, so the follower goes after one to one and a half times the lag time. No leader changes
  ({leader_changes} in all rows): the controller is not asked, and leader epochs stay.
- With `min.insync.replicas=1` a shrink *helps* writers: they wait {short} instead of {long}. What is acknowledged in
  between is on one machine.
- With `min.insync.replicas=2` the leader refuses writes after the shrink (NotEnoughReplicas). The client has the
  defaults of the newest version, so it retries until the follower is back: no write fails, and the longest waits
  {refused_wait}. In each such row {reordered} records or more change places: five requests are in flight, and the
  scenario's client is not idempotent. On {old} {duplicate} records are in the log twice, too.
- So a lag time above the longest stall ({patient} ms here) trades neither: no replica leaves, and the write that waits
  longest waits {long}.

## By messages (up to 0.8.2)

Scenario [isr-flapping](catalogue.md#isr-flapping): bursts of eight records; the follower is 10 ms away and healthy.
Who is more than `replica.lag.max.messages` behind at the moment of a look is out; looks are `replica.lag.time.max.ms`
apart. From 0.9 on messages do not count, and [the same bursts](catalogue.md#isr-steady) remove no replica.
"""

_MESSAGES_WORDS = """
With fewer messages than a burst has the follower flaps at the rate of the looks: {often} shrinks in 8 s of bursts where
looks are 1 s apart, {seldom} where they are 10 s apart. With as many as a burst has it never does. The setting means
nothing without the size of bursts, which is why it went (KIP-16).
"""


def page(root: Path) -> str:
    by_time, by_messages = cells(root, "isr-lag-time"), cells(root, "isr-flapping")
    reordering = [one for one in by_time if one["broken"].get("reordered")]
    parts = [
        notice(SOURCE),
        _HEAD.format(replay=reordering[0]["replay"]),
        table(
            ("Kafka", "`replica.lag.time.max.ms`", "`min.insync.replicas`", "shrinks", "expansions", "leader changes",
             "acknowledged", "refused", "longest wait", "reordered"),
            _time_rows(by_time),
        ),
        _TIME_WORDS.format(**_time_figures(by_time)),
        table(("`replica.lag.max.messages`", "`replica.lag.time.max.ms`", "shrinks", "expansions", "acknowledged"),
              _message_rows(by_messages)),
        _MESSAGES_WORDS.format(**_message_figures(by_messages)).rstrip("\n"),
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _time_rows(found: list[Cell]) -> Iterator[tuple[object, ...]]:
    for one in found:
        yield (
            one["kafka"], one["chosen"]["replica.lag.time.max.ms"], one["chosen"]["min.insync.replicas"],
            one["isr_shrinks"], one["isr_expands"], one["leader_changes"], one["acknowledged"], one["refused"],
            seconds(one["longest_wait_ms"]), one["broken"].get("reordered", 0),
        )  # fmt: skip


def _time_figures(found: list[Cell]) -> dict[str, object]:
    """Figures in the text; asserts that they hold in all rows."""
    out = [one for one in found if one["isr_shrinks"]]
    kept = [one for one in found if not one["isr_shrinks"]]
    assert {one["isr_shrinks"] for one in out} == {one["isr_expands"] for one in out} == {4}
    assert not any(one["leader_changes"] for one in found)
    assert not any(one["refused"] or one["broken"] for one in kept)
    strict = [one for one in out if one["chosen"]["min.insync.replicas"] == "2"]
    assert not any(one["refused"] for one in found)
    assert all(one["broken"].get("reordered") for one in strict)
    old = strict[0]
    assert all(("duplicate" in one["broken"]) == (one["kafka"] == old["kafka"]) for one in strict)
    lone = [one for one in out if one["chosen"]["min.insync.replicas"] == "1"]
    return {
        "flaps": out[0]["isr_shrinks"],
        "leader_changes": 0,
        "short": seconds(min(one["longest_wait_ms"] for one in lone)),
        "long": seconds(max(one["longest_wait_ms"] for one in kept)),
        "old": old["kafka"],
        "refused_wait": seconds(max(one["longest_wait_ms"] for one in strict)),
        "reordered": min(one["broken"]["reordered"] for one in strict),
        "duplicate": old["broken"]["duplicate"],
        "patient": min(int(one["chosen"]["replica.lag.time.max.ms"]) for one in kept),
    }


def _message_rows(found: list[Cell]) -> Iterator[tuple[object, ...]]:
    for one in found:
        lag, time = (code(one["chosen"][name]) for name in ("replica.lag.max.messages", "replica.lag.time.max.ms"))
        yield lag, time, one["isr_shrinks"], one["isr_expands"], one["acknowledged"]


def _message_figures(found: list[Cell]) -> dict[str, object]:
    few = [one for one in found if int(one["chosen"]["replica.lag.max.messages"]) < 8]
    assert not any(one["isr_shrinks"] for one in found if one not in few)
    by_time = {one["chosen"]["replica.lag.time.max.ms"]: one["isr_shrinks"] for one in few}
    return {"often": by_time["1000"], "seldom": by_time["10000"]}
