"""Two suites: the selected tests, and those that cannot pass, each with its reason."""

from typing import Any, Final

import msgspec

SETTINGS: Final[dict[str, Any]] = {"auto.create.topics.enable": True, "delete.topic.enable": True}
NO_DELAY: Final = "group.initial.rebalance.delay.ms"
ONE_BROKER: Final = {"transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1}
SINCE_0_11: Final = (NO_DELAY, *ONE_BROKER)


class Explained(msgspec.Struct, frozen=True):
    """A failure with a reason of ours.

    `test`: a part of its name; `message`: a part of its error, so that another failure of the same test has no reason.
    """

    test: str
    message: str
    reason: str


class Suite(msgspec.Struct, frozen=True):
    """A suite.

    `client`: the package; `tests`: arguments of pytest; `left_out`: {options: reason}; `settings`: of the cluster, as
    the suite's own fixtures have them; `needs`: packages beside the client; `kafka`: the versions to play.
    """

    client: str
    plugin: str
    tests: tuple[str, ...]
    left_out: dict[tuple[str, ...], str]
    settings: dict[str, Any]
    needs: tuple[str, ...]
    kafka: tuple[str, ...]
    explained: tuple[Explained, ...]


PYTEST: Final = ("pytest==9.0.2", "pytest-mock==3.15.1", "pytest-timeout==2.4.0")

KAFKA_PYTHON: Final = Suite(
    client="kafka-python",
    plugin="pointed_kafka_python",
    tests=("test/integration",),
    left_out={
        ("--ignore=test/integration/test_sasl_integration.py",): "SASL",
        ("--ignore=test/integration/test_ssl_integration.py",): "TLS",
    },
    settings={
        "num.partitions": 4, "offsets.topic.num.partitions": 2, "offsets.topic.replication.factor": 1,
        "offsets.commit.timeout.ms": 500, "group.min.session.timeout.ms": 1000, "replica.lag.time.max.ms": 1000,
        "log.cleaner.enable": False, NO_DELAY: 0, **ONE_BROKER,
    },
    needs=(*PYTEST, "py", "lz4", "python-snappy", "zstandard"),
    kafka=("2.8", "2.6", "1.1", "0.10.2"),
    explained=(
        Explained("test_alter_replica_log_dirs", "'AlterReplicaLogDirsRequest'", "AlterReplicaLogDirs is not built"),
        Explained("_acls", "SecurityDisabled", "its broker has an authorizer; ours answer as one that has none"),
    ),
)  # fmt: skip

AIOKAFKA: Final = Suite(
    client="aiokafka",
    plugin="pointed_aiokafka",
    tests=("tests",),
    left_out={
        ("-m", "not ssl"): "TLS",
        ("--ignore=tests/test_sasl.py",): "SASL",
    },
    settings={  # server.properties of Kafka's
        "num.partitions": 2, "offsets.topic.replication.factor": 1, NO_DELAY: 0, **ONE_BROKER,
    },
    needs=(*PYTEST, "pytest-asyncio==1.3.0", "docker==7.1.0", "cramjam==2.11.0", "async-timeout==5.0.1"),
    kafka=("2.8", "2.6", "1.1"),  # it writes no records older than 0.11's
    explained=(),
)  # fmt: skip

SUITES: Final = (KAFKA_PYTHON, AIOKAFKA)


def reason_of(suite: Suite, test: str, message: str) -> str:
    """Reason of a failure; "": unknown."""
    for one in suite.explained:
        if one.test in test and one.message in message:
            return one.reason
    return ""
