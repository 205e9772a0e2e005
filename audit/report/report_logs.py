"""Replicas' logs of a partition over time, in steps for a page; and at the end, as text.

A batch is identified by its content, (digest, leader epoch). Two replicas differ where they hold different contents at
one offset. A content without any different one at its offsets is *plain*.

Bound: of a partition with more than STEPS_MAX steps, successive plain batches that one replica appended within one of
COLUMNS parts of the run are one step, and so are moves of its high watermark. Differing contents stay, up to
CONTENTS_MAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from audit.report.report_timeline import LogStep, Operation, Replica, Span, Timeline
from protocol.ids import TopicPartition

STEPS_MAX = 1_500
COLUMNS = 300
CONTENTS_MAX = 4_000
VALUE_CHARS_MAX = 24

PLAIN = 0
"""Number of every plain content, where they are not distinguished."""
KINDS = {"append": 0, "cut": 1, "load": 2, "create": 3, "delete": 4}
"""{step kind: its number in the page}; `logs.js` has the same."""

Content = tuple[int, int]


def logs_of(timeline: Timeline, topic_partition: TopicPartition) -> dict[str, Any]:
    """Plain values for a page.

    `replicas`: each with its `node`, `steps` as [ms, kind, base, last, epoch, content], its `marks` as [ms, high
    watermark], `leads` as [from, to, epoch] and `alive` as [from, to]. `values`: {content: written value}. `lost`:
    contents that were acknowledged and are gone. `merged`: whether steps are merged.
    """
    replicas = timeline.replicas.get(topic_partition, {})
    contents = _numbered(replicas.values())
    count = sum(len(one.steps) + len(one.high_watermarks) for one in replicas.values())
    merged = count > STEPS_MAX
    differing = _differing(replicas.values(), contents) if merged else set(contents.values())
    column_ms = timeline.end_ms / COLUMNS if merged else 0.0
    values, lost = _written(timeline.operations, topic_partition, contents, differing)
    return {
        "replicas": [
            {
                "node": name,
                "steps": list(_steps(replica.steps, contents, differing, column_ms)),
                "marks": list(_last_of_each(replica.high_watermarks, column_ms)),
                "leads": [[_ms(span.from_ms), _ms(span.to_ms), span.epoch] for span in replica.leads],
                "alive": _spans(timeline.nodes[name].alive if name in timeline.nodes else []),
            }
            for name, replica in sorted(replicas.items())
        ],
        "values": values,
        "lost": lost,
        "merged": merged,
    }


def at_the_end(replica: Replica) -> tuple[int, int, str]:
    """(log end, high watermark, epochs as `0@0 1@2`) of a replica's log."""
    held: list[LogStep] = []
    for step in replica.steps:
        if step.kind == "append":
            held.append(step)
        else:
            held = [one for one in held if step.kind in ("cut", "load") and one.last < step.base]
    begins = [one for n, one in enumerate(held) if n == 0 or held[n - 1].epoch != one.epoch]
    epochs = " ".join(f"{one.epoch}@{one.base}" for one in begins)
    return (replica.log_ends[-1][1] if replica.log_ends else 0,
            replica.high_watermarks[-1][1] if replica.high_watermarks else 0, epochs)  # fmt: skip


def _numbered(replicas: Iterable[Replica]) -> dict[Content, int]:
    contents: dict[Content, int] = {}
    for replica in replicas:
        for step in replica.steps:
            if step.kind == "append":
                contents.setdefault((step.digest, step.epoch), len(contents) + 1)
    return contents


def _differing(replicas: Iterable[Replica], contents: Mapping[Content, int]) -> set[int]:
    """Contents with a different one at their offsets at some time."""
    ranges = sorted(
        {
            (step.base, step.last, contents[step.digest, step.epoch])
            for replica in replicas
            for step in replica.steps
            if step.kind == "append"
        }
    )
    found: set[int] = set()
    beside: list[tuple[int, int]] = []
    for base, last, content in ranges:
        beside = [one for one in beside if one[0] >= base]
        if any(other != content for _, other in beside):
            found.update((content, *(other for _, other in beside)))
        beside.append((last, content))
        if len(found) > CONTENTS_MAX:
            return set()
    return found


def _steps(
    steps: Sequence[LogStep], contents: Mapping[Content, int], differing: set[int], column_ms: float
) -> Iterator[list[float]]:
    last: list[float] = []
    for step in steps:
        number = contents[step.digest, step.epoch] if step.kind == "append" else PLAIN
        content = number if number in differing else PLAIN
        plain = step.kind == "append" and content == PLAIN
        if (
            last and plain and column_ms and last[1] == KINDS["append"] and last[5] == PLAIN
            and last[3] + 1 == step.base and last[4] == step.epoch and last[0] // column_ms == step.at_ms // column_ms
        ):  # fmt: skip
            last[3] = step.last
            continue
        if last:
            yield last
        last = [_ms(step.at_ms), KINDS[step.kind], step.base, step.last, step.epoch, content]
    if last:
        yield last


def _last_of_each(points: Sequence[tuple[float, int]], column_ms: float) -> Iterator[list[float]]:
    for n, (at_ms, offset) in enumerate(points):
        later = points[n + 1] if n + 1 < len(points) else None
        if later and column_ms and later[0] // column_ms == at_ms // column_ms and later[1] >= offset:
            continue
        yield [_ms(at_ms), offset]


def _written(
    operations: Iterable[Operation], topic_partition: TopicPartition, contents: Mapping[Content, int], shown: set[int]
) -> tuple[dict[str, str], list[int]]:
    by_digest: dict[int, list[int]] = {}
    for (digest, _), number in contents.items():
        if number in shown:
            by_digest.setdefault(digest, []).append(number)
    written: dict[int, list[str]] = {}
    lost: dict[int, None] = {}
    for one in operations:
        if one.topic_partition == topic_partition and one.digest:
            for number in by_digest.get(one.digest, ()):
                written.setdefault(number, []).extend(one.values)
                if one.lost:
                    lost[number] = None
    return {str(number): _several(values) for number, values in written.items()}, list(lost)


def _several(values: Sequence[str]) -> str:
    """Text of the values of one batch."""
    first = values[0][:VALUE_CHARS_MAX]
    return first if len(values) == 1 else f"{first} and {len(values) - 1} more"


def _spans(spans: Iterable[Span]) -> list[list[float]]:
    return [[_ms(span.from_ms), _ms(span.to_ms)] for span in spans]


def _ms(at_ms: float) -> float:
    return round(at_ms, 2)
