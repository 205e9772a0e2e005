"""Settings files that Kafka refuses, from public reports.

Each error names the line, in every version that refuses it.
"""

import pytest

from emulator.settings.accounting import Everything, check
from emulator.settings.applied import applied
from emulator.settings.properties_files import UnusableFile, settings_file, wanted
from emulator.settings.setting_registry import UnusableSetting
from protocol.versions import LADDER, since

BROKERS = {0: "az-0", 1: "az-1", 2: "az-2"}
CONSUMER = "bootstrap.servers=a:9092\ngroup.id=readers\n"
OLD_CONSUMER = "zookeeper.connect=a:2181\ngroup.id=readers\n"
SASL = "listeners=SASL_PLAINTEXT://a:9092\nsecurity.inter.broker.protocol=SASL_PLAINTEXT\n"
MECHANISM = "sasl.mechanism.inter.broker.protocol=PLAIN\n"

ALWAYS, NEVER = (LADDER[0], LADDER[-1]), ("", "")

FILES: list[tuple[str, str, tuple[str, str], int]] = [
    ("producer", "bootstrap.servers=a:9092\nacks=2\n", ALWAYS, 2),
    ("server", "listeners=PLAINTEXT://0.0.0.0:9092\n", ("1.0", LADDER[-1]), 1),
    ("server", "listeners=PLAINTEXT://0.0.0.0:9092\nadvertised.listeners=PLAINTEXT://a:9092\n", NEVER, 0),
    ("server", "listeners=INTERNAL://a:9092,EXTERNAL://b:9092\ninter.broker.listener.name=INTERNAL\n"
     "listener.security.protocol.map=INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT\n", ("0.10.2", LADDER[-1]), 1),
    ("server", "log.roll.ms=0\n", ALWAYS, 1),
    ("server", "log.roll.jitter.ms=-5\n", ALWAYS, 1),
    ("server", "log.dirs=\n", ALWAYS, 1),
    ("server", "log.dirs= , \n", ALWAYS, 1),
    ("server", SASL + MECHANISM, ("0.10.2", LADDER[-1]), 3),
    ("server", SASL + MECHANISM + "sasl.enabled.mechanisms=PLAIN\n", NEVER, 0),
    ("server", SASL + MECHANISM + "sasl.enabled.mechanisms=${MECHANISMS}\n", NEVER, 0),
    ("server", SASL + MECHANISM + "listener.name.sasl_plaintext.sasl.enabled.mechanisms=PLAIN\n", NEVER, 0),
    ("consumer", CONSUMER + "auto.offset.reset=smallest\n", ("0.10.2", LADDER[-1]), 3),
    ("consumer", CONSUMER + "auto.offset.reset=earliest\n", NEVER, 0),
    ("consumer", CONSUMER + "partition.assignment.strategy=roundrobin\n", ("0.10.2", LADDER[-1]), 3),
    ("consumer", CONSUMER + "group.instance.id=a b\n", ("2.3", LADDER[-1]), 3),
    ("consumer", CONSUMER + "group.instance.id=..\n", ("2.3", LADDER[-1]), 3),
    ("consumer", CONSUMER + f"group.instance.id={'x' * 250}\n", ("2.3", LADDER[-1]), 3),
    ("consumer", CONSUMER + f"group.instance.id={'x' * 249}\n", NEVER, 0),
    ("consumer", OLD_CONSUMER + "auto.offset.reset=earliest\n", ("0.8.2", "1.1"), 3),
    ("consumer", OLD_CONSUMER + "auto.offset.reset=none\n", ("0.8.2", "1.1"), 3),
    ("consumer", OLD_CONSUMER + "partition.assignment.strategy=x.RoundRobinAssignor\n", ("0.10.2", "1.1"), 3),
]  # fmt: skip
"""(kind, text, (first version that refuses it, last), line that the message names)"""


@pytest.mark.parametrize("version", LADDER)
@pytest.mark.parametrize(("kind", "text", "refused", "line"), FILES, ids=[repr(text)[:60] for _, text, _, _ in FILES])
def test_a_file_that_kafka_refuses(kind: str, text: str, refused: tuple[str, str], line: int, version: str) -> None:
    name = f"{kind}.properties"
    refuses = bool(refused[0]) and since(version, refused[0]) and since(refused[1], version)
    try:
        layer = applied([settings_file(wanted(name), name, text.encode())], version, BROKERS)
        check(Everything(version=version, cluster=layer.cluster, by_broker=layer.by_broker, brokers=tuple(BROKERS)))
    except (UnusableFile, UnusableSetting) as error:
        assert refuses, error
        assert str(error).startswith(f"{name}:{line}"), error
    else:
        assert not refuses
