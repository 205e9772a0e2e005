"""End of a create-topic that waits for leaders, when the topic's deletion is requested."""

from typing import Any

import pytest

from tests.simulated.cluster import Cluster

SCRIPT = """
  - start: 0
  - create-topic: {topic: x, assignment: [0]}
  - {background: making, create-topic: {topic: t, assignment: [1]}}
  - sleep: 3
  - delete-topic: t
  - sleep: 40
"""


@pytest.mark.parametrize("version", ["0.8.2", "1.1", "2.8"])
def test_a_topic_to_be_deleted_is_not_awaited(version: str) -> None:
    """Its only broker never runs; a creation has 30 s."""
    settings: dict[str, Any] = {"delete.topic.enable": True}
    cluster = Cluster(SCRIPT, version=version, **settings)
    cluster.run()
    assert cluster.finished
