"""Every setting of Kafka 0.8.2 to 2.8, of its clients, and of ZooKeeper: data, held against Kafka's own source.

Brokers: `replication` and `logs`, where most is modelled; `requests`, `groups`, `addresses`, `security`, `kraft`.
Then `topics`, `producers`, `consumers`, the clients in Scala that went with 2.0 (`scala_clients`), and the session
service (`ensemble`). Each module has GROUPS: settings of one subject, with what they mean here.
"""

from emulator.settings.bearing import Group
from emulator.settings.tables import (
    addresses,
    consumers,
    ensemble,
    groups,
    kraft,
    logs,
    producers,
    replication,
    requests,
    scala_clients,
    security,
    topics,
)

GROUPS: tuple[Group, ...] = (
    *replication.GROUPS,
    *logs.GROUPS,
    *requests.GROUPS,
    *groups.GROUPS,
    *addresses.GROUPS,
    *security.GROUPS,
    *kraft.GROUPS,
    *topics.GROUPS,
    *ensemble.GROUPS,
    *producers.GROUPS,
    *consumers.GROUPS,
    *scala_clients.GROUPS,
)
