"""The tables against themselves, and against what acts on them."""

from collections import Counter
from pathlib import Path

import pytest

from controller.kraft.controller_settings import ControllerSettings
from controller.quorum.settings import QuorumSettings
from docs.generate.uses import FILES_OF_SETTINGS, used_names
from emulator.check_table import CHECKS
from emulator.machines.broker.settings import TOPIC_OVERRIDES, BrokerSettings
from emulator.machines.client.client_settings import consumer_settings, old_consumer_settings, producer_settings
from emulator.machines.node.broker_lifecycle import LifecycleSettings
from emulator.runs.resolve import SESSION_SETTINGS
from emulator.settings.bearing import MODELLED, NOT_MODELLED, Group
from emulator.settings.java_names import java_consumer, java_producer
from emulator.settings.setting import BROKER, CONSUMER, ENSEMBLE, PRODUCER, TOPIC, Setting
from emulator.settings.setting_registry import BY_SCOPE, GROUP_OF, REGISTRY, SETTINGS
from emulator.settings.tables import GROUPS
from protocol.versions import LADDER, releases, since

ALL_RELEASES = releases()
ROOT = Path(__file__).parents[3]
MODELLED_ONES = [setting for setting in SETTINGS if GROUP_OF[setting.key].standing == MODELLED]


def test_every_setting_is_there_once() -> None:
    assert [key for key, count in Counter(setting.key for setting in SETTINGS).items() if count > 1] == []
    assert len(SETTINGS) == len(REGISTRY) > 500


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_a_setting_makes_sense(setting: Setting) -> None:
    versions = [version for version in ALL_RELEASES if setting.exists_in(version)]
    assert versions
    for steps in (setting.defaults, setting.low, setting.high):
        firsts = [ALL_RELEASES.index(first) for first, _ in steps]
        assert firsts == sorted(set(firsts)) and firsts[0] == 0
    for version in versions:
        value = setting.default_in(version)
        if value not in (None, ""):
            assert setting.read(value, version) == ("", value), version
    if setting.follows:
        assert all(BY_SCOPE[BROKER][setting.follows].exists_in(version) for version in versions)
    if setting.java:
        assert setting.java in BY_SCOPE[setting.scope] and not BY_SCOPE[setting.scope][setting.java].java
    if setting.scala:
        assert setting.until == "1.1" and setting.scope in (PRODUCER, CONSUMER)
    if setting.update:
        assert setting.update_since and setting.scope == BROKER
    assert not (setting.only_update and not setting.update)
    assert setting.unit == "ms" or not setting.name.endswith(".ms")


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group.settings[0].scope}: {group.title}")
def test_a_group_has_its_explanation(group: Group) -> None:
    assert len({setting.scope for setting in group.settings}) == 1
    assert bool(group.why) == (group.standing != MODELLED or bool(group.bears))
    assert bool(group.checks) == bool(group.bears)
    assert set(group.checks) <= set(CHECKS)
    assert not group.bears or set(group.bears) == {setting.name for setting in group.settings}
    assert not group.bears or group.standing in (MODELLED, NOT_MODELLED)
    assert group.bears or group.standing != NOT_MODELLED


def test_every_setting_of_a_topic_has_one_of_brokers() -> None:
    alone = {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
    alone |= {"remote.storage.enable", "remote.log.copy.disable", "remote.log.delete.on.disable"}
    assert {name for name, setting in BY_SCOPE[TOPIC].items() if not setting.follows} == alone


# --- what is modelled acts ---


def test_brokers_act_on_what_is_called_modelled() -> None:
    read = used_names(ROOT, FILES_OF_SETTINGS)
    fields = {field_of(setting) for setting in MODELLED_ONES if setting.scope in (BROKER, TOPIC)}
    fields -= {"inter_broker_protocol_version"}  # gates act on it
    of_log = {name for name in QuorumSettings.__struct_fields__ if name.startswith("metadata_")}
    quorum = {f"controller_quorum_{name}" for name in QuorumSettings.__struct_fields__} | of_log
    lifecycle = {*LifecycleSettings.__struct_fields__}
    known = {*BrokerSettings.__struct_fields__, *ControllerSettings.__struct_fields__, *quorum, *lifecycle}
    assert fields <= known
    read |= {f"controller_quorum_{name}" for name in read & set(QuorumSettings.__struct_fields__)}
    assert fields <= read


def field_of(setting: Setting) -> str:
    return TOPIC_OVERRIDES[setting.name] if setting.scope == TOPIC else setting.name.replace(".", "_")


def test_nothing_that_acts_is_called_otherwise() -> None:
    modelled = {field_of(setting) for setting in MODELLED_ONES if setting.scope in (BROKER, TOPIC)}
    assert set(BrokerSettings.__struct_fields__) <= modelled


def test_the_session_service_acts_on_what_is_called_modelled() -> None:
    assert {setting.name for setting in MODELLED_ONES if setting.scope == ENSEMBLE} == set(SESSION_SETTINGS)


@pytest.mark.parametrize("version", LADDER)
def test_clients_take_what_is_called_modelled_and_have_kafkas_defaults(version: str) -> None:
    for scope, java, make in (
        (PRODUCER, java_producer, producer_settings),
        (CONSUMER, java_consumer, consumer_settings),
    ):
        known = {name: one for name, one in BY_SCOPE[scope].items() if GROUP_OF[one.key].standing == MODELLED}
        known = {name: one for name, one in known.items() if one.exists_in(version) and not one.scala and not one.java}
        known.pop("block.on.buffer.full", None)
        in_force = make(version)
        for name, setting in known.items():
            value = setting.default_in(version)
            assert value is not None
            make(version, java({name: value}))
            own = getattr(in_force, name.replace(".", "_"))
            value = -1 if (name, value) == ("acks", "all") else value
            assert str(value) == str(own) or value == own or (version, name) in OTHERWISE, (name, value, own)


OTHERWISE = {
    ("0.8.2", "fetch.min.bytes"),  # the first Java consumer could not read
    ("0.8.2", "request.timeout.ms"),
}
"""(version, setting): where a client here has another default than Kafka's."""


def test_old_consumers_take_what_only_they_have() -> None:
    made = old_consumer_settings("1.1", {"zookeeper.session.timeout.ms": 9000, "offsets.storage": "zookeeper"})
    assert made.zookeeper_session_timeout_ms == 9000


def test_what_is_new_since_a_release_between_the_ladders_steps_is_there_at_the_next() -> None:
    assert since("0.10.2", "0.10.1") and not since("0.8.2", "0.9")
    assert REGISTRY["replica.fetch.response.max.bytes"].exists_in("0.10.2")
    assert not REGISTRY["request.timeout.ms"].exists_in("0.8.2")
