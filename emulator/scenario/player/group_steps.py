"""Steps of groups: consume, commit, committed.

The client process of an AZ carries them out, or the player's own client outside all AZs. Both use the same commands
(emulator/machines/client/group_commands.py) with the same requests and responses.
"""

from collections.abc import Callable
from typing import Any

from emulator.machines.client.client_requests import ClientRequests
from emulator.machines.client.client_settings import UnusableSetting
from emulator.machines.client.client_state import Failure
from emulator.machines.client.group_commands import GroupCommands, TooManyCommands
from emulator.scenario import scenario_model as m
from emulator.scenario.player.client_step_execution import ClientRefused
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.tasks import Order, Steps
from emulator.scenario.player.timeline import Timeline
from protocol.ids import topic_partition_text
from protocol.machine import Now
from protocol.messages.consuming import (
    ClientCommitRequest,
    ClientCommitResponse,
    ClientCommittedRequest,
    ClientCommittedResponse,
    ClientConsumeRequest,
    ClientConsumeResponse,
)
from protocol.messages.groups import GroupPartition
from protocol.messages.message_base import Message
from protocol.outbox import Outbox

GroupStep = m.Consume | m.Commit | m.LookCommitted
GroupRequest = ClientConsumeRequest | ClientCommitRequest | ClientCommittedRequest


class GroupSteps:
    """Runs these steps for a player.

    `topic_partition`: topic and number of a step's partition; `timeline`: receives the results.
    """

    def __init__(
        self, stage: Stage, topic_partition: Callable[[str | None], tuple[str, int]], timeline: Timeline
    ) -> None:
        self._stage = stage
        self._topic_partition = topic_partition
        self._timeline = timeline

    def group(self, step: GroupStep) -> Steps:
        """The command, and its entry in the timeline."""
        stage = self._stage
        match step:
            case m.Consume(group=group, partitions=partitions):
                topic_partitions = [self._topic_partition(partition) for partition in partitions or (None,)]
                answer = yield self._order(step.client, consume_request(step, topic_partitions))
                self._timeline.consumed(stage.now.mono_ms, group, answer)
            case m.Commit(group=group, offset=offset, partition=partition):
                topic_partition = self._topic_partition(partition)
                answer = yield self._order(step.client, commit_request(step, topic_partition))
                where = topic_partition_text(*topic_partition)
                self._timeline.commit_ended(stage.now.mono_ms, group, offset, answer.error, where)
            case m.LookCommitted(group=group, partition=partition):
                topic_partition = self._topic_partition(partition)
                answer = yield self._order(step.client, committed_request(step, topic_partition))
                self._timeline.committed(stage.now.mono_ms, group, answer, topic_partition_text(*topic_partition))

    def _order(self, client: str, request: GroupRequest) -> Order:
        stage = self._stage
        assert stage.groups is not None
        return group_order(stage.asker, stage.groups, lambda: stage.now, stage.out, client, request)


def consume_request(step: m.Consume, topic_partitions: list[tuple[str, int]]) -> ClientConsumeRequest:
    return ClientConsumeRequest(
        step.group,
        [GroupPartition(*topic_partition) for topic_partition in topic_partitions],
        step.old,
        step.settings,
        int(step.at_least_s * 1000),
        int(step.limit_s * 1000),
    )


def commit_request(step: m.Commit, topic_partition: tuple[str, int]) -> ClientCommitRequest:
    settings, timeout_ms = step.settings, int(step.limit_s * 1000)
    return ClientCommitRequest(
        step.group, *topic_partition, step.offset, step.leader_epoch, step.old, settings, timeout_ms
    )


def committed_request(step: m.LookCommitted, topic_partition: tuple[str, int]) -> ClientCommittedRequest:
    return ClientCommittedRequest(step.group, *topic_partition, step.old, step.settings, int(step.limit_s * 1000))


def group_order(
    asker: ClientRequests,
    own: GroupCommands,
    now: Callable[[], Now],
    out: Outbox,
    client: str,
    request: GroupRequest,
) -> Order:
    """A command of `client`, "" the player's own process; the result is the response."""

    def begin(done: Callable[[Any], None]) -> None:
        def end(answer: Message) -> None:
            assert isinstance(answer, ClientConsumeResponse | ClientCommitResponse | ClientCommittedResponse), answer
            done(ClientRefused(f"{client or 'the client'}: {answer.problem}") if answer.problem else answer)

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            if isinstance(answer, Failure):
                done(ClientRefused(f"{client}: {answer.error}: {answer.reason}"))
            else:
                end(answer)

        if client:
            asker.ask(out, client, request, answered)
            return
        try:
            match request:
                case ClientConsumeRequest():
                    own.consume(now(), out, request, lambda out, answer: end(answer))
                case ClientCommitRequest():
                    own.commit(now(), out, request, lambda out, answer: end(answer))
                case ClientCommittedRequest():
                    own.committed(now(), out, request, lambda out, answer: end(answer))
        except (UnusableSetting, TooManyCommands) as problem:
            done(ClientRefused(f"the client: {problem}"))

    return Order(client or "the player's own client", begin)
