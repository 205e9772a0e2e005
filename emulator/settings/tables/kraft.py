"""Brokers: Kafka without ZooKeeper, an early version in 2.8.

It is not emulated: process.roles is refused.
"""

from emulator.settings.bearing import Group, without_bearing
from emulator.settings.setting import integer, listing, text

GROUPS: tuple[Group, ...] = (
    without_bearing(
        "Kafka without ZooKeeper",
        "they mean something with process.roles only, which is refused",
        listing("process.roles", words=("broker", "controller"), since="2.8"),
        integer("node.id", -1, since="2.8"),
        listing("controller.quorum.voters", since="2.8"),
        integer("controller.quorum.election.timeout.ms", 1000, since="2.8"),
        integer("controller.quorum.election.backoff.max.ms", 1000, since="2.8"),
        integer("controller.quorum.fetch.timeout.ms", 2000, since="2.8"),
        integer("controller.quorum.append.linger.ms", 25, since="2.8"),
        text("controller.listener.names", since="2.8"),
        text("metadata.log.dir", since="2.8"),
        integer("broker.heartbeat.interval.ms", 2000, since="2.8"),
        integer("broker.session.timeout.ms", 9000, since="2.8"),
        integer("initial.broker.registration.timeout.ms", 60000, since="2.8"),
        integer("controller.quorum.request.timeout.ms", 2000, since="2.8"),
        integer("controller.quorum.retry.backoff.ms", 20, since="2.8"),
    ),
)
