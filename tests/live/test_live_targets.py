"""Real processes: commands that name the leader of a partition or the active controller."""

from collections.abc import Callable

import pytest

from emulator.cluster.control_requests import AlterBroker, CreateTopic, Heal, LinkFault, Machine
from emulator.faults.link_words import parse
from tests.ids import brokers
from tests.live.conftest import Live

pytestmark = pytest.mark.network


def test_a_target_is_the_node_of_the_moment(up: Callable[..., Live]) -> None:
    live = up()
    for absent in ("leader:t-0", "leader of nothing"):
        refused = live.ask(Machine("kill", absent))
        assert refused.code == 2 and refused.error.startswith("leader of "), refused
    live.did(CreateTopic("t", [list(brokers(1, 0, 2))]))
    cut = live.did(LinkFault(parse(["cut", "leader", "of", "t-0", "->", "session-0"])))
    assert cut["targets"] == {"leader of t-0": "broker-1"}
    assert cut["applied"][0]["rule"].startswith("cut broker-1 -> session-0")
    altered = live.did(AlterBroker("leader of t-0", {"num.io.threads": 9}))
    assert (altered["broker"], altered["targets"]) == (1, {"leader of t-0": "broker-1"})
    assert live.did(AlterBroker("2", remove=["num.io.threads"]))["broker"] == 2
    for absent in ("leader:u-0", "broker-7", "session-0", "null"):
        refused = live.ask(AlterBroker(absent, {"num.io.threads": 9}))
        assert refused.code == 2 and refused.error, refused
    killed = live.did(Machine("kill", ["leader:t-0", "broker-1"]))
    assert (killed["node"], killed["targets"]) == ("broker-1", {"leader of t-0": "broker-1"})
    live.until(lambda: live.partition()["leader"] not in (1, -1))
    healed = live.did(Heal(["leader:t-0", "session-0"]))  # the rule of these words, even after an election
    assert [one["rule"] for one in healed["healed"]] == [cut["applied"][0]["rule"]]
    paused = live.did(Machine("pause", "active controller"))
    assert paused["targets"] == {"active controller": paused["node"]}
    live.did(Machine("resume", paused["node"]))
