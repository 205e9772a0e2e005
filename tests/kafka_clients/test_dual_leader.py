"""An unmodified application on both sides of a cut.

Librdkafka's reports, and the audit's verdict.
"""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message, Producer

import faultline
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.network, pytest.mark.spark]

LIMIT_S = PATIENCE_S
SETTINGS: dict[str, Any] = {"zookeeper.session.timeout.ms": 4000, "replica.lag.time.max.ms": 4000}


class Application:
    """`told`: {value: its offset, from its delivery report}, of acknowledged records."""

    def __init__(self, servers: str, **settings: Any) -> None:
        about = {
            "bootstrap.servers": servers,
            "linger.ms": 0,
            "log_level": 0,
            "request.timeout.ms": 2000,
            "socket.timeout.ms": 2500,
            "message.timeout.ms": 60_000,
            "topic.metadata.refresh.interval.ms": 500,
        } | {name.replace("_", "."): value for name, value in settings.items()}
        self._producer = Producer(about)
        self.told: dict[str, int] = {}

    def write(self, topic: str, *values: str) -> None:
        def report(error: Any, message: Message) -> None:
            if error is None:
                self.told[(message.value() or b"").decode()] = message.offset() or 0

        for value in values:
            self._producer.produce(topic, value, partition=0, on_delivery=report)

    def flush(self, limit_s: float = LIMIT_S) -> int:
        """The number of records without a report yet."""
        return self._producer.flush(limit_s)


@pytest.mark.slow
def test_what_is_acknowledged_by_a_leader_that_is_cut_off_is_lost_with_acks_1_alone(
    state_home: Path, tmp_path: Path
) -> None:
    with faultline.Cluster(settings=SETTINGS, directory=tmp_path / "run") as cluster:
        for topic in ("one", "all"):
            cluster.create_topic(topic, assignment=[[0, 1, 2]])
        inside, outside = cluster.bootstrap_servers("az-0"), cluster.bootstrap_servers("az-1")
        apps = [Application(servers, acks=1) for servers in (inside, outside)]
        safe = [Application(servers, acks="all", enable_idempotence=True) for servers in (inside, outside)]
        for number, app in enumerate((*apps, *safe)):
            app.write("one" if app in apps else "all", f"before-{number}")
            assert app.flush() == 0
        cluster.cut("az-0", recovery="instant")
        apps[0].write("one", "c", "d", "e")
        assert apps[0].flush() == 0, "its leader is in its AZ"
        safe[0].write("all", "kept-0")
        apps[1].write("one", "x", "y")
        safe[1].write("all", "kept-1")
        assert apps[1].flush() == safe[1].flush() == 0, "by the new leader"
        assert "kept-0" not in safe[0].told
        cluster.heal()
        assert safe[0].flush() == 0
        assert cluster.settle(LIMIT_S)
        verdict = cluster.audit()
    assert (tmp_path / "run" / "report.html").is_file()
    assert not verdict.unknown_because, verdict
    assert set(verdict.violated) == {"lost-acknowledged", "dual-leader"}, verdict
    assert verdict.lost.by_acks == {1: 3}, verdict
    assert [value for value in "cde" if any(f"'{value}' of broker-0.1" in line for line in verdict.lost.evidence)] == [
        "c", "d", "e",
    ]  # fmt: skip
    assert all(set(app.told) >= {"c", "d", "e"} for app in apps[:1]), "librdkafka reported them as delivered"
    assert {"kept-0"} <= set(safe[0].told) and {"kept-1"} <= set(safe[1].told)
