"""Versions that a broker's Kafka listener advertises in Kafka 3.9 and 4.4."""

from emulator.worlds.network.kafka_listener import apis
from protocol.gates import gates_for

OF_VERSION_2 = {apis.PRODUCE, apis.END_TXN, apis.TXN_OFFSET_COMMIT}
"""APIs with a new version in 4.0, of transaction version 2 (KIP-890)."""


def test_old_versions_are_gone_from_4_0_on() -> None:
    """KIP-896."""
    before, after = (apis.apis_of(gates_for(version)) for version in ("3.9", "4.0"))
    assert before.keys() == after.keys()
    for api, oldest in apis.OLDEST.items():
        assert after[api].least == oldest
        assert api in OF_VERSION_2 or after[api].most == before[api].most
    untouched = before.keys() - apis.OLDEST.keys() - OF_VERSION_2
    assert all(after[api] == before[api] for api in untouched)
    assert before[apis.JOIN_GROUP].least == 0
    assert [(before[api].most, after[api].most) for api in sorted(OF_VERSION_2)] == [(11, 12), (4, 5), (4, 5)]
