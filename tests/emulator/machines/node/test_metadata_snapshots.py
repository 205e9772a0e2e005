"""Snapshots of the metadata log in whole processes: written, fetched, loaded."""

from typing import Any

import pytest

from emulator.machines.node.metadata_log import DIRECTORY
from protocol.events import MetadataSnapshot
from tests.emulator.machines.node.kraft_cluster import KraftCluster

OFTEN: dict[str, Any] = {"metadata_log_max_record_bytes_between_snapshots": 400, "metadata_max_retention_bytes": 1}


@pytest.mark.parametrize("combined", [False, True])
def test_a_broker_that_was_away_begins_with_a_snapshot(combined: bool) -> None:
    cluster = KraftCluster("4.4", combined=combined, **OFTEN)
    cluster.world.kill("broker-2")
    for number in range(6):
        cluster.create(0, 1, topic=f"t{number}" if number else "t")
    cluster.go_on(62_000.0)  # the log below the snapshots is deleted once a minute
    log = cluster.world.nodes["broker-0"].files
    assert [name for name in log.list(DIRECTORY) if name.endswith(".checkpoint")]
    cluster.world.start("broker-2")
    cluster.until(lambda: cluster.broker(2).listens, 60_000.0)
    actions = [(one.action, one.offset) for one in cluster.events("broker-2", MetadataSnapshot)]
    downloaded = [end for action, end in actions if action == "downloaded"]
    assert downloaded and ("loaded", downloaded[-1]) in actions
    image, other = cluster.broker(2).publishing.image, cluster.broker(0).publishing.image
    cluster.until(lambda: image.next_offset == other.next_offset)
    assert (image.topics, image.configs, image.features) == (other.topics, other.configs, other.features)
    assert cluster.produce(0, "a").error == 0


def test_a_restart_loads_the_own_snapshot_and_the_log_behind_it() -> None:
    cluster = KraftCluster("4.4", **OFTEN).create(0, 1, 2)
    cluster.create(0, 1, 2, topic="u")
    cluster.world.kill("broker-1")
    cluster.world.start("broker-1")
    cluster.until(lambda: cluster.broker(1).listens, 60_000.0)
    assert "loaded" in [one.action for one in cluster.events("broker-1", MetadataSnapshot)]
    assert set(cluster.broker(1).publishing.image.topics) == {"t", "u"}


def test_default_settings_write_none_within_minutes() -> None:
    cluster = KraftCluster("4.4").create(0, 1, 2)
    cluster.go_on(60_000.0)
    assert not cluster.events("broker-0", MetadataSnapshot)
