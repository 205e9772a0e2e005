"""Versions that a broker's Kafka listener advertises in Kafka 3.9 and 4.4."""

from emulator.worlds.network.kafka_listener import apis
from protocol.gates import gates_for


def test_old_versions_are_gone_from_4_0_on() -> None:
    """KIP-896."""
    before, after = (apis.apis_of(gates_for(version)) for version in ("3.9", "4.0"))
    assert before.keys() == after.keys()
    for api, oldest in apis.OLDEST.items():
        assert after[api].least == oldest
        assert after[api].most == before[api].most
    untouched = before.keys() - apis.OLDEST.keys()
    assert all(after[api] == before[api] for api in untouched)
    assert before[apis.JOIN_GROUP].least == 0
