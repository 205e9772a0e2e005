"""All settings of Kafka 0.8.2 to 3.9 with ZooKeeper, its clients and ZooKeeper.

Data, verified against Kafka's source.

Brokers: `replication_settings` and `log_setting_table`, mostly modelled; `request_settings`, `group_settings`,
`addresses`, `security_settings`, `kraft`, `newer_groups`, `tiered_storage`. Then `topic_settings`, `producers`,
`consumers`, `client_settings_of_3` (of both), the clients in Scala that were removed in 2.0 (`scala_clients`), and the
session service (`ensemble_settings`). Each module has GROUPS: settings of one subject, with their standing.
"""

from emulator.settings.bearing import Group
from emulator.settings.tables import (
    addresses,
    consumers,
    ensemble_settings,
    group_settings,
    kraft,
    log_setting_table,
    newer_groups,
    producers,
    replication_settings,
    request_settings,
    scala_clients,
    security_settings,
    tiered_storage,
    topic_settings,
)

GROUPS: tuple[Group, ...] = (
    *replication_settings.GROUPS,
    *log_setting_table.GROUPS,
    *request_settings.GROUPS,
    *group_settings.GROUPS,
    *addresses.GROUPS,
    *security_settings.GROUPS,
    *kraft.GROUPS,
    *newer_groups.GROUPS,
    *tiered_storage.GROUPS,
    *topic_settings.GROUPS,
    *ensemble_settings.GROUPS,
    *producers.GROUPS,
    *consumers.GROUPS,
    *scala_clients.GROUPS,
)
