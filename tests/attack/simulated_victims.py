"""A simulated cluster with a hostile peer that has the token.

It opens connections to every node for every purpose, sends arbitrary messages, and forges answers to the nodes' own
requests.
"""

import random
from collections import Counter
from collections.abc import Callable

from emulator.faults.actions import ActDone
from emulator.worlds.simulated.node import SimulatedNode
from emulator.worlds.simulated.trace import Cause
from protocol.conversations import AcceptedMessages, Conversation, OutOfPlace
from protocol.machine import ConnectionAccepted, ConnectionLost, Input, MessageReceived, Send
from protocol.messages import REGISTRY
from protocol.messages.message_base import REQUEST, RESPONSE, Message
from protocol.purposes import ALL, CONTROL
from tests.simulated.cluster import BEGIN, Cluster
from verification.attack.hostile_messages import Messages

PURPOSES = [purpose for purpose in ALL if purpose != CONTROL]
THEIRS = -1_000_000
"""Connections of the peer count down from here: no other has such a number."""


class Victims:
    """`said`: messages that reached a machine.

    `refused`: messages that a conversation had no place for.
    """

    def __init__(self, seed: int, batches: list[bytes]) -> None:
        self.cluster = Cluster(BEGIN + "  - sleep: 100000\n", seed=seed, steps_may_fail=True, topology="{brokers: 3}")
        self.cluster.run(until=self._begun)
        self.world = self.cluster.world
        self.chance = random.Random(seed)
        self.messages = Messages(self.chance, batches)
        self.said = self.refused = 0
        self.ends: Counter[str] = Counter()
        self._count = 0
        self._open: dict[tuple[str, int], Conversation] = {}
        self._asked: dict[tuple[str, int, int], Send] = {}
        """{(node, incarnation, its connection): its last request there}."""
        send = self.world._send

        def noted(node: SimulatedNode, order: Send) -> None:
            if order.connection > 0 and order.message.DIRECTION == REQUEST:
                self._asked[node.node.name, node.incarnation, order.connection] = order
            send(node, order)

        step = self.world._step
        before: set[tuple[str, int, Cause]] = set()
        """Inputs that have come; a node that stands still is given them once more."""

        def received(node: SimulatedNode, event: Input | ActDone, cause: Cause) -> None:
            if isinstance(event, MessageReceived) and (node.node.name, event.connection, cause) not in before:
                before.add((node.node.name, event.connection, cause))
                where = (node.node.name, node.incarnation, event.connection)
                if where in self._asked and event.message.DIRECTION == RESPONSE:
                    del self._asked[where]  # the true answer came first
            step(node, event, cause)

        self.world._send = noted  # type: ignore[method-assign]
        self.world._step = received  # type: ignore[method-assign]

    def _begun(self) -> bool:
        return len(self.cluster.attempts()) >= 2

    def attack(self, messages: int, peek: Callable[[Message], object] = lambda message: None) -> None:
        """Raises what a machine raises."""
        world, chance = self.world, self.chance
        for number in range(messages):
            name = chance.choice(list(world.nodes))
            node = world.nodes[name]
            if not node.alive:
                ended = node.died and (node.died.code, node.died.reason)
                self.ends[f"{name}: {ended}"] += 1
                world.start(name)
                continue
            if chance.random() < 0.15:
                self._answer(node, peek)
            else:
                self._ask(node, peek)
            if number % 10 == 0:
                self.cluster.go_on(chance.choice((0.0, 1.0, 20.0, 500.0)))

    def _ask(self, node: SimulatedNode, peek: Callable[[Message], object]) -> None:
        chance = self.chance
        mine = [topic_partition for topic_partition in self._open if topic_partition[0] == node.node.name]
        if not mine or chance.random() < 0.05:
            self._count += 1
            number, purpose = THEIRS - self._count, chance.choice(PURPOSES)
            peer = chance.choice(list(self.world.nodes))
            received: AcceptedMessages = getattr(node.machine, "ACCEPTED_MESSAGES", {})
            self._open[node.node.name, number] = Conversation(received, purpose, opened=False)
            self.world.deliver(node, ConnectionAccepted(number, peer, purpose), "attack")
            return
        topic_partition = chance.choice(mine)
        if topic_partition[1] in node.closed:
            del self._open[topic_partition]
            return
        if chance.random() < 0.02:
            del self._open[topic_partition]
            self.world.deliver(node, ConnectionLost(topic_partition[1], "closed by peer"), "attack")
            return
        fitting = sorted(self._open[topic_partition]._accepted, key=lambda one: one.__name__)
        message = self.messages.of(chance.choice(fitting)) if fitting and chance.random() < 0.9 else self.messages.any()
        self._say(node, topic_partition[1], self._open[topic_partition], message, chance.randrange(3), peek)

    def _answer(self, node: SimulatedNode, peek: Callable[[Message], object]) -> None:
        """On a connection that the node opened: the other end is one of the cluster, and says this."""
        ours = [end for end in node.ends.values() if end.connection > 0 and end.opened and not end.closed]
        if not ours:
            return
        end = self.chance.choice(ours)
        conversation = Conversation({}, end.wire.purpose, opened=True)
        requested = self._asked.get((node.node.name, node.incarnation, end.connection))
        place = (requested.message.API_KEY, RESPONSE) if requested is not None else None
        if requested is not None and place in REGISTRY and self.chance.random() < 0.6:
            # In the place of the true answer, which would then be one too many: it ends the connection.
            conversation.say(requested.message, requested.correlation_id)
            answer = self.messages.of(REGISTRY[place])
            self._say(node, end.connection, conversation, answer, requested.correlation_id, peek)
            if node.ends.get(end.connection) is end:
                self._hang_up(node, end.connection, "one answer too many")
            return
        fitting = sorted(conversation._accepted, key=lambda one: one.__name__)
        message = (
            self.messages.of(self.chance.choice(fitting))
            if fitting and self.chance.random() < 0.9
            else self.messages.any()
        )
        self._say(node, end.connection, conversation, message, self.chance.randrange(3), peek)

    def _say(
        self,
        node: SimulatedNode,
        connection: int,
        conversation: Conversation,
        message: Message,
        correlation_id: int,
        peek: Callable[[Message], object],
    ) -> None:
        try:
            conversation.hear(message, correlation_id)
        except OutOfPlace as error:
            self.refused += 1
            self._open.pop((node.node.name, connection), None)
            self._hang_up(node, connection, str(error))
            return
        self.said += 1
        peek(message)
        event = MessageReceived(connection, correlation_id, self.chance.randrange(13), message)
        self.world.deliver(node, event, "attack")

    def _hang_up(self, node: SimulatedNode, connection: int, reason: str) -> None:
        """As the switchboard does: the socket is closed, and the machine hears of it."""
        end = node.ends.pop(connection, None)
        if end is not None:
            self.world._close(end, reason)
        self.world.deliver(node, ConnectionLost(connection, reason), "attack")
