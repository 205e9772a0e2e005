"""The node of a settings file: by option, by its name, or by its keys; else one clear error."""

import pytest

from emulator.settings.properties_files import SettingsFile, UnusableFile, Wanted, settings_file, wanted
from emulator.settings.setting import BROKER, CONSUMER, ENSEMBLE, PRODUCER, TOPIC


def read(word: str, data: bytes) -> SettingsFile:
    requested = wanted(word)
    return settings_file(requested, requested.path, data)


@pytest.mark.parametrize(
    ("word", "requested"),
    [
        ("a.properties", Wanted("a.properties")),
        ("producer:a.properties", Wanted("a.properties", PRODUCER)),
        ("zookeeper:/etc/zoo.cfg", Wanted("/etc/zoo.cfg", ENSEMBLE)),
        ("broker-12:a", Wanted("a", BROKER, 12)),
        ("broker:broker:a", Wanted("broker:a", BROKER)),
        ("other:a", Wanted("other:a")),
        ("broker-:a", Wanted("broker-:a")),
    ],
)
def test_the_kind_may_stand_before_the_name(word: str, requested: Wanted) -> None:
    assert wanted(word) == requested


@pytest.mark.parametrize(
    ("word", "data", "scope"),
    [
        ("server.properties", b"", BROKER),
        ("etc/kafka/broker-3.properties", b"acks=1", BROKER),
        ("my-producer.properties", b"", PRODUCER),
        ("CONSUMER_prod.properties", b"", CONSUMER),
        ("events-topic.properties", b"", TOPIC),
        ("zoo.cfg", b"", ENSEMBLE),
        ("zookeeper.properties", b"", ENSEMBLE),
        ("topic:server.properties", b"", TOPIC),
        ("x.properties", b"acks=all\nlinger.ms=1\nbootstrap.servers=a:1", PRODUCER),
        ("x.properties", b"auto.offset.reset=earliest\nbootstrap.servers=a:1", CONSUMER),
        ("x.properties", b"log.dirs=/a\nmy.own=1", BROKER),
        ("x.properties", b"tickTime=2000", ENSEMBLE),
        ("x.properties", b"retention.ms=1", TOPIC),
        ("producer-consumer.properties", b"acks=1", PRODUCER),
    ],
)
def test_the_kind_is_given_by_option_or_name_or_found_from_the_keys(word: str, data: bytes, scope: str) -> None:
    assert read(word, data).scope == scope


@pytest.mark.parametrize(
    ("word", "data", "message"),
    [
        ("client.properties", b"security.protocol=SSL", "client.properties: its settings may be a producer's or a "
         "consumer's; give producer:client.properties or consumer:client.properties"),
        ("x.properties", b"# nothing", "x.properties: holds no setting"),
        ("x.properties", b"a=1\nb=2", "x.properties: none of its 2 names is a setting of Kafka's"),
        ("application.properties", b"spring.kafka.producer.acks=all", "application.properties: none of its 1 names is "
         "a setting of Kafka's; those of spring.kafka are Spring's names"),
        ("server.properties", b"a=1\nbroker.id=one", "server.properties:2: broker.id: expected a whole number, "
         "got 'one'"),
        ("server.properties", b"a=1\nb=\\u1", "server.properties:2: '\\\\u1' is no character: \\u and four "
         "hexadecimal digits"),
        ("server.properties", b"\0", "server.properties: not a text: it has a byte of 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_clear_error(word: str, data: bytes, message: str) -> None:
    with pytest.raises(UnusableFile) as raised:
        read(word, data)
    assert str(raised.value) == message


def test_broker_id_names_the_node_unless_the_kind_was_given() -> None:
    own = b"broker.id=2"
    assert (read("server.properties", own).broker, read("server.properties", own).by_id) == (2, True)
    assert read("broker:server.properties", own).broker is None
    assert (read("broker-1:server.properties", own).broker, read("broker-1:server.properties", own).by_id) == (1, False)
    assert read("server.properties", b"broker.id=-1").broker is None
    assert read("server.properties", b"broker.id=${ID}").broker is None
    assert read("producer.properties", own).broker is None


def test_of_a_name_that_comes_twice_the_last_line_counts() -> None:
    file = read("server.properties", b"num.partitions=1\nport=2\nnum.partitions=3\nnum.partitions=4")
    assert {entry.name: entry.value for entry in file.entries} == {"num.partitions": "4", "port": "2"}
    assert file.twice == (("num.partitions", (1, 3)),)


@pytest.mark.parametrize(
    ("word", "roles", "of"),
    [
        ("controller.properties", "controller", (None, True)),
        ("broker.properties", "broker", (2, False)),
        ("server.properties", "broker, controller", (2, False)),
        ("broker:controller.properties", "controller", (None, False)),
    ],
)
def test_the_roles_of_a_file_select_a_broker_or_the_controllers(
    word: str, roles: str, of: tuple[int | None, bool]
) -> None:
    file = read(word, f"process.roles={roles}\nnode.id=2\n".encode())
    assert (file.scope, file.broker, file.of_controllers) == (BROKER, *of)
