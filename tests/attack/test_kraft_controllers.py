"""A controller of KRaft with peers that send any message.

It answers, or ends by name, and meets no bug.
"""

import random

import pytest

from protocol.conversations import ACCEPTED_BY_KRAFT_CONTROLLER
from protocol.ids import LeaderEpoch
from protocol.kinds import ExitKind
from protocol.machine import Close, ConnectionAccepted, ConnectionOpened, Exit, MessageReceived, Open, Send
from protocol.messages import REGISTRY
from protocol.messages.kraft_messages import BrokerHeartbeatRequest
from protocol.messages.message_base import RESPONSE
from protocol.purposes import NODE_TO_CONTROLLER, QUORUM
from protocol.records.batch import encode_batch
from tests.emulator.machines.node.test_kraft_controller_node import Bench
from verification.attack.hostile_messages import Messages

PEERS = ("controller-1", "controller-2", "broker-0", "client-0", "observer")
STEPS = 400


@pytest.mark.parametrize("version", ["3.3", "3.9", "4.4"])
@pytest.mark.parametrize("seed", range(12))
def test_any_message_of_a_peer_is_handled(version: str, seed: int) -> None:
    chance = random.Random(seed)
    batches = [encode_batch([b"x"], timestamp_ms=1, is_control=control) for control in (False, True)]
    batches += [b"", b"\x00"]
    messages = Messages(chance, batches)
    bench = Bench(voters=chance.choice([1, 3]), version=version)
    opened: list[int] = []
    accepted: dict[int, str] = {}
    ended: list[Exit] = []
    seen = 0
    for step in range(STEPS):
        for effect in bench.effects[seen:]:
            if isinstance(effect, Open):
                opened.append(effect.connection)
            elif isinstance(effect, Close):
                accepted.pop(effect.connection, None)
            elif isinstance(effect, Exit):
                ended.append(effect)
        waiting = [e for e in bench.effects[seen:] if isinstance(e, Send) and e.connection > 0]
        seen = len(bench.effects)
        if ended:
            break
        for connection in opened:
            bench.step(ConnectionOpened(connection))
        opened.clear()
        for send in waiting:
            response = REGISTRY[send.message.API_KEY, RESPONSE]
            bench.step(MessageReceived(send.connection, send.correlation_id, 0, messages.of(response)))
        purpose = chance.choice(sorted(ACCEPTED_BY_KRAFT_CONTROLLER))
        if chance.random() < 0.2 or purpose not in accepted.values():
            accepted[-step - 1] = purpose
            bench.step(ConnectionAccepted(-step - 1, chance.choice(PEERS), purpose))
            continue
        connection = chance.choice([one for one, of in accepted.items() if of == purpose])
        kinds = sorted(ACCEPTED_BY_KRAFT_CONTROLLER[purpose], key=lambda kind: kind.API_NAME)
        if purpose == NODE_TO_CONTROLLER:
            kinds = [BrokerHeartbeatRequest]
        bench.ask(connection, messages.of(chance.choice(kinds)), step)
        bench.go_on(chance.choice([0.0, 10.0, 1_000.0]))
    assert all(end.kind == ExitKind.METADATA_LOG_FAILED for end in ended), ended


def test_only_brokers_and_controllers_speak_as_nodes_of_the_quorum() -> None:
    bench = Bench(voters=3)
    for number, peer in enumerate(PEERS, 1):
        effects = bench.step(ConnectionAccepted(-number, peer, QUORUM))
        assert (Close(-number) in effects) is (peer in ("client-0", "observer"))
    assert bench.machine.member.epoch == LeaderEpoch(0)
