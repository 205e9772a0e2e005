"""Voters of a live KRaft cluster change by a command (KIP-853)."""

import pytest

import faultline
from emulator.cli.app import app
from emulator.exit_codes import UNUSABLE

pytestmark = pytest.mark.real


def voters_of(cluster: faultline.Cluster) -> list[int]:
    voters: list[int] = cluster.status()["nodes"]["controller-1"]["quorum"]["voters"]
    return voters


def test_a_controller_joins_the_voters_and_another_leaves() -> None:
    with faultline.Cluster(kafka_version="4.4", initial_controllers=2) as cluster:
        assert voters_of(cluster) == [1000, 1001]
        cluster.add_controller("controller-2")
        assert voters_of(cluster) == [1000, 1001, 1002]
        with pytest.raises(faultline.Refused, match="add-controller controller-2: DUPLICATE_VOTER"):
            cluster.add_controller("controller-2")
        cluster.remove_controller("controller-0")
        assert voters_of(cluster) == [1001, 1002]
        with pytest.raises(faultline.Refused, match="no controller 'controller-7'; did you mean controller-"):
            cluster.remove_controller("controller-7")
        cluster.kill("controller-0")
        cluster.create_topic("t")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kafka-version", "2.8"), "--initial-controllers 3: of KRaft alone; give --metadata kraft, or leave it out"),
        (("--kafka-version", "3.8"), "--initial-controllers 3: voters change from Kafka 3.9 on (KIP-853), not in 3.8"),
        (("kraft-three-az", "--initial-controllers", "4"), "--initial-controllers 4: there are 3 controllers; give 1"),
    ],
)
def test_first_voters_that_cannot_be(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first = () if "--initial-controllers" in words else ("--initial-controllers", "3")
    assert app(["up", *words, *first], result_action="return_value") == UNUSABLE
    assert message in " ".join(capsys.readouterr().err.split())
