"""docs/isr-flapping.md, from shipped_sweeps.json: a follower that leaves and joins the ISR."""

from collections.abc import Iterator
from pathlib import Path

from docs.generate.markdown_tables import code, notice, table
from docs.generate.swept import SOURCE, Cell, cells, seconds

_HEAD = """# A follower in and out of the ISR

`replica.lag.time.max.ms` decides when a leader removes a slow follower from the ISR; up to 0.8.2 also
`replica.lag.max.messages`. With a low value a healthy follower leaves and joins the ISR again and again. With a high
value writes with acks=all wait for the slow follower. Each row is one simulated run. These commands repeat the
[sweeps](sweeps.md), and one row:

```
faultline sweep isr-lag-time
faultline sweep isr-flapping
{replay}
```

## By time

Scenario [isr-stalls](catalogue.md#isr-stalls): two replicas; the follower's fetches are held for 6 s, four times. A
client writes twice a second with acks=all. *Longest wait*: of a write, from its send to its end. *Reordered*: records
that follow a record that was sent later.
"""

_TIME_WORDS = """
- Each stall that is longer than the lag time costs a shrink and an expansion ({flaps} of each in four stalls). The
  leader checks twice per lag time, so the follower leaves after one to one and a half times the lag time. No leader
  changes ({leader_changes} in all rows): the controller elects no leader, and leader epochs stay.
- With `min.insync.replicas=1` a shrink *helps* writers: they wait {short} instead of {long}. The records acknowledged
  in between are on one machine.
- With `min.insync.replicas=2` the leader refuses writes after the shrink (NotEnoughReplicas). The client has the
  defaults of the newest version, so it retries until the follower is back. No write fails; the longest wait is
  {refused_wait}. In each such row at least {reordered} records are reordered: five requests are in flight, and the
  scenario's client is not idempotent. On {old} {duplicate} records are also duplicate.
- With a lag time above the longest stall ({patient} ms here) no replica leaves the ISR. The longest wait is {long}.

## By messages (up to 0.8.2)

Scenario [isr-flapping](catalogue.md#isr-flapping): bursts of eight records; the follower is healthy, with a latency of
10 ms. The leader checks every `replica.lag.time.max.ms` and removes a follower that is more than
`replica.lag.max.messages` behind. From 0.9 on messages do not count, and
[the same bursts](catalogue.md#isr-steady) remove no replica.
"""

_MESSAGES_WORDS = """
If `replica.lag.max.messages` is below a burst's size, the follower leaves and joins at the rate of the checks. In 8 s
of bursts there are {often} shrinks with a check every 1 s, and {seldom} with a check every 10 s. At a burst's size it
never leaves. A good value depends on the size of bursts; so Kafka removed the setting (KIP-16).
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
