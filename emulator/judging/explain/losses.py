"""Finds the rule of docs/semantics.md that allows a lost record.

Each rule names the event that removed the record (`fates`), and allows only what that event has removed.

Until a record is committed, acks 0 and 1 promise it to its leader alone. From then on it is promised to all clients,
whatever its acks.
"""

from itertools import pairwise

from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.divergence_explanation import parting_rule
from emulator.judging.explain.loss_explanation import Fate, Fates
from emulator.judging.explain.replica_logs import ReplicaLogs
from emulator.judging.explain.run_history import UNTOLD, Cut, History, Led, LostTail, Stated
from emulator.judging.explain.stopped import left_alone
from emulator.judging.explain.unclean import UncleanElections
from emulator.scenario import scenario_model as m
from protocol.gates import Gates
from protocol.ids import TopicPartition
from protocol.kinds import CutReason

FETCHED_ON = "8 (KAFKA-6880): a follower of an epoch of the past counted as holding what it had not, and led"
FETCHER_KEPT = (
    "8 (KAFKA-7164): the fetcher of an earlier epoch was not restarted, counted as holding what it had not, and led"
)
LAST_KNOWN = "7.4 (KIP-966): all of ISR and ELR stopped uncleanly, and the last known leader led"
NEXT_WITHOUT = "1.8: acks=1 is answered by the leader alone, and the next leader did not have it"
NOT_SYNCED = "3: power loss takes what was not synced"


class Losses:
    """Rules of lost records. `unclean`: periods of unclean election.

    `events`: descriptions of allowed losses.
    """

    def __init__(self, gates: Gates, history: History, logs: ReplicaLogs, unclean: UncleanElections) -> None:
        self._gates = gates
        self._history = history
        self._unclean = unclean
        self.fates = Fates(history, logs)
        self.events: list[str] = []

    def lost(self, broken: Broken) -> str:
        """The rule that allows the loss of every promised copy; "": none does."""
        fates = self.fates.of(broken.topic_partition, broken.offset, broken.digest)
        if broken.acks == m.ALL_ACKS:
            committed = [fate for fate in fates if fate.committed_ms is not None]
            return self._all(committed, [self._committed(fate) for fate in committed])
        return self._all(fates, [self._gone(fate) for fate in fates])

    def reread(self, broken: Broken) -> str:
        """The rule that allows two contents at one offset, the committed one lost; "": none does."""
        fates = self.fates.replaced(broken.topic_partition, broken.offset)
        committed = [fate for fate in fates if fate.committed_ms is not None] or fates
        return self._all(committed, [self._committed(fate) for fate in committed])

    def _all(self, fates: list[Fate], rules: list[str]) -> str:
        if not rules or not all(rules):
            return ""
        self.events += [fate.text for fate in fates]
        return rules[0]

    def _gone(self, fate: Fate) -> str:
        """The rule for a record with acks 0 or 1."""
        return self._uncommitted(fate) if fate.committed_ms is None else self._committed(fate)

    def _uncommitted(self, fate: Fate) -> str:
        """The rule for an uncommitted record.

        It is lost with the leadership of its holders (1.8), or with their power (3).
        """
        own = fate.by is None or fate.by.broker == fate.held[1]
        match fate.gone:
            case LostTail() if own:
                return NOT_SYNCED
            case Cut(at_ms=at_ms, broker=broker) if own:  # it followed another leader since
                roles = self.fates.followed(fate.topic_partition, broker, at_ms)
                return NEXT_WITHOUT if any(role.epoch > fate.held[0] for role in roles) else ""
            case _:
                return NEXT_WITHOUT if not own else ""

    def _committed(self, fate: Fate) -> str:
        """The rule for a record below a high watermark."""
        by, gone, gates = fate.by, fate.gone, self._gates
        if by is None:
            if isinstance(gone, LostTail):
                return "3: power loss took it from its last leader, and no broker has led since"
            return ""
        if self._elected_outside(fate, by):
            return "4.2: an unclean election"
        if self._last_known_leader(fate, by):
            return LAST_KNOWN
        if isinstance(gone, LostTail) and gone.disk:
            return "8 (KIP-903): who lost its disk was let into the ISR, and led"
        if isinstance(gone, LostTail):
            return self._in_isr_without(fate, by, gone)
        if fate.committed_ms is not None and by.at_ms < fate.committed_ms:
            return ""  # a leader of the past has committed it, and only an unclean election leaves it alone in the ISR
        if not gates.expand_needs_epoch_start and self._joined_behind(fate, by):
            return "8 (KAFKA-7128): a replica joined the ISR behind the leader epoch's start, and led"
        counted = "" if gates.fences_by_epoch else self._counted_from_the_past(fate, by)
        if counted:
            return counted
        if self.fates.holds_another(fate, by) and (parted := parting_rule(gates)):
            return f"{parted}, and who held another record in its place led"
        if isinstance(gone, Cut):
            if gates.truncates_to_high_watermark and gone.reason in (CutReason.HIGH_WATERMARK, UNTOLD):
                return "8 (KIP-101): a follower cut to its high watermark, and then led"
            unknown = (CutReason.HIGH_WATERMARK, CutReason.EPOCH, UNTOLD)
            if not gates.assigns_epoch_on_election and gone.reason in unknown:
                return "8 (KAFKA-7415): an epoch was not known, a follower cut what was committed, and then led"
        return ""

    def _elected_outside(self, fate: Fate, by: Led) -> bool:
        """Whether the leader without the record was elected uncleanly after the last holder.

        A leader that dies before it learns of its election is elected again, alone in the ISR.
        """
        states = self._history.states.get(fate.topic_partition, [])
        return any(
            after.state.leader == by.broker
            and after.state.leader not in before.state.isr
            and fate.held[0] < after.state.leader_epoch <= by.epoch
            and self._unclean.may_be(fate.topic_partition[0], before.at_ms, after.at_ms)
            for before, after in pairwise(states)
        )

    def _last_known_leader(self, fate: Fate, by: Led) -> bool:
        """Whether it was elected without ISR and ELR, as last known leader (kraft-semantics 7.4)."""
        states = self._history.states.get(fate.topic_partition, [])
        return any(
            after.state.leader == by.broker
            and after.state.recovering
            and not before.state.isr
            and fate.held[0] < after.state.leader_epoch <= by.epoch
            for before, after in pairwise(states)
        )

    def _in_isr_without(self, fate: Fate, by: Led, tail: LostTail) -> str:
        """The rule if the leader stayed in the ISR from its return until it led; otherwise ""."""
        for stated in _since(self._history.states.get(fate.topic_partition, []), tail.at_ms):
            if by.broker not in stated.state.isr:
                return ""
            if stated.state.leader == by.broker and stated.state.leader_epoch >= by.epoch:
                return "8 (KIP-966): who lost its tail with its power stayed in the ISR, and led"
        return ""

    def _joined_behind(self, fate: Fate, by: Led) -> bool:
        """Whether it joined the ISR below the leader epoch's start, and has lost nothing since."""
        topic_partition, leaders = fate.topic_partition, self._history.leaders.get(fate.topic_partition, [])
        for before, after in pairwise(self._history.states.get(topic_partition, [])):
            joined = by.broker in after.state.isr and by.broker not in before.state.isr
            if joined and after.at_ms <= by.at_ms and (fate.gone is None or fate.gone.at_ms <= after.at_ms):
                epoch = after.state.leader_epoch
                starts = [one.log_end for one in leaders if one.epoch == epoch and one.at_ms <= after.at_ms]
                if starts and starts[-1] > by.log_end:
                    return True
        return False

    def _counted_from_the_past(self, fate: Fate, by: Led) -> str:
        """The rule if the leader counted as a holder by a fetcher of an older epoch; otherwise "".

        The later leader fetched from the writer when the record was committed. The fetcher had begun in an epoch since
        which another broker had led, so that the writer took all earlier offsets as replicated. The follower had no
        later epoch, or kept its fetcher when it received one.
        """
        history, topic_partition, batch = self._history, fate.topic_partition, fate.record
        at_ms = history.acknowledged.get((topic_partition, batch.digest), fate.committed_ms or batch.at_ms)
        for fetched in history.fetched.get(topic_partition, []):
            counted = fetched.broker == by.broker and fetched.source == batch.broker and by.at_ms > at_ms
            if not (counted and fetched.at_ms <= at_ms < fetched.until_ms):
                continue
            roles_since = [
                (followed.leader, followed.epoch)
                for followed in history.followers.get(topic_partition, [])
                if followed.broker == fetched.broker and fetched.at_ms < followed.at_ms <= at_ms
            ]
            roles = [(fetched.source, fetched.epoch), *roles_since]
            led = another_led(history, topic_partition, fetched.epoch, batch.epoch, batch.broker)
            if led and left_alone(self._gates, roles):
                return FETCHER_KEPT if roles_since else FETCHED_ON
        return ""


def another_led(history: History, topic_partition: TopicPartition, after: int, before: int, than: int) -> bool:
    """Whether a broker other than `than` led in an epoch between these two."""
    return any(after < led.epoch < before and led.broker != than for led in history.leaders.get(topic_partition, []))


def _since(states: list[Stated], at_ms: float) -> list[Stated]:
    """The state in force at a time, and all later ones."""
    later = [stated for stated in states if stated.at_ms > at_ms]
    before = [stated for stated in states if stated.at_ms <= at_ms]
    return [*before[-1:], *later]
