"""Names of topics' incarnations.

A topic with the name of a deleted one is another topic (semantics 4.5); ids tell them apart. While a run goes on, the
first incarnation has the topic's name, a later one `t#2`, `t#3` and so on. Afterwards the last one is shown by the
topic's name, and those before as `t#1`, `t#2` and so on.
"""

from bisect import bisect_right
from collections.abc import Iterable

from msgspec.structs import replace

from emulator.judging.oracle.log_extent import Reached
from emulator.judging.oracle.truth import Truth
from protocol.ids import TopicPartition

_OF_PARTITIONS = (
    "writes", "left_open", "reads", "lost_positions", "of_groups", "leader_views", "leaders", "watermarks_back",
    "epochs_back", "states", "cuts", "outlived", "ahead", "isr_changes", "sent_offsets",
)  # fmt: skip
"""Facts of a truth that have a `topic_partition`, but those from the disks."""


class Incarnations:
    """Incarnations of all topics, as they come and go.

    `removed`: {topic: for each of its ended incarnations the count of operations that had begun by then}.
    """

    def __init__(self) -> None:
        self.removed: dict[str, list[int]] = {}
        self._ids: dict[str, list[str]] = {}

    def created(self, topic: str, topic_id: str) -> None:
        """Add a topic's incarnation, unless its id is known."""
        ids = self._ids.setdefault(topic, [])
        if topic_id not in ids:
            ids.append(topic_id)

    def ended(self, topic: str, begun: int) -> None:
        """End the topic's incarnation. `begun`: count of operations that had begun."""
        self.removed.setdefault(topic, []).append(begun)

    def name(self, topic: str, topic_id: str = "") -> str:
        """Name of an incarnation; without a known id, of the present one or the next."""
        ids = self._ids.get(topic, ())
        life = ids.index(topic_id) + 1 if topic_id in ids else len(self.removed.get(topic, ())) + 1
        return _numbered(topic, life)

    def name_at(self, topic: str, begun: int) -> str:
        """Name of the incarnation when so many operations had begun."""
        return _numbered(topic, bisect_right(self.removed.get(topic, ()), begun) + 1)

    def shown(self, name: str) -> str:
        """The name of an incarnation after the run."""
        topic, _, number = name.partition("#")
        life = int(number or 1)
        return former_life(topic, life) if life <= len(self.removed.get(topic, ())) else topic

    def show(self, truth: Truth, going: Iterable[str] = ()) -> None:
        """Name all facts of the truth, but those from the disks, as they are shown.

        `going`: topics whose deletion is in progress.
        """
        truth.gone = {self.shown(name) for name in going}
        for topic, lives in self.removed.items():
            truth.gone |= {former_life(topic, life + 1) for life in range(len(lives))}
        if not self.removed:
            return

        def shown(topic_partition: TopicPartition) -> TopicPartition:
            return self.shown(topic_partition[0]), topic_partition[1]

        for name in _OF_PARTITIONS:
            facts = getattr(truth, name)
            setattr(truth, name, [replace(one, topic_partition=shown(one.topic_partition)) for one in facts])
        forgotten = [replace(one, topic_partition=shown(one.topic_partition)) for one in truth.forgotten]
        truth.forgotten = [one for one in forgotten if one.topic_partition[0] not in truth.gone]
        truth.appended = {shown(topic_partition): held for topic_partition, held in truth.appended.items()}
        truth.ever_transactional = {shown(place): held for place, held in truth.ever_transactional.items()}
        truth.reached = [
            Reached(shown(one.topic_partition), one.node, one.incarnation, one.high_watermark, one.log_end)
            for one in truth.reached
        ]


def former_life(topic: str, number: int) -> str:
    """Name of a deleted topic's incarnation; `number` from 1. No real topic can have it."""
    return f"{topic}#{number}"


def plain_topic(topic: str) -> str:
    """Name of the topic while it existed."""
    return topic.partition("#")[0]


def _numbered(topic: str, life: int) -> str:
    return topic if life == 1 else former_life(topic, life)
