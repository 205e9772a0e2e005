"""Advertised API versions, against the answers of real brokers that kafka-python carries."""

import pytest
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from emulator.worlds.network.kafka_listener.apis import BUILT, apis_of
from protocol.gates import gates_for
from protocol.versions import LADDER, since


@pytest.mark.parametrize("version", [version for version in LADDER if since(version, "0.10.2")])
def test_never_more_than_that_kafka_advertised(version: str) -> None:
    real = BROKER_API_VERSIONS[tuple(map(int, version.split(".")[: 3 if version.startswith("0.10") else 2]))]
    for key, (least, most) in apis_of(gates_for(version)).items():
        assert real[key][0] <= least <= most <= real[key][1]
        assert most == min(real[key][1], BUILT[key].most), "the newest that is built"


def test_a_version_without_api_versions_has_no_listener() -> None:
    assert apis_of(gates_for("0.8.2")) == {}


def test_records_of_the_log_s_own_format_alone() -> None:
    assert apis_of(gates_for("0.10.2"))[0] == (2, 2)
    assert apis_of(gates_for("2.6"))[0] == (3, 8)
    assert apis_of(gates_for("2.6"))[1] == (4, 11)
