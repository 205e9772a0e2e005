"""All settings of Kafka 0.8.2 to 2.8, its clients and ZooKeeper.

Data, verified against Kafka's source.

Brokers: `replication` and `logs`, mostly modelled; `requests`, `groups`, `addresses`, `security`, `kraft`. Then
`topics`, `producers`, `consumers`, the clients in Scala that were removed in 2.0 (`scala_clients`), and the session
service (`ensemble`). Each module has GROUPS: settings of one subject, with their standing.
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
