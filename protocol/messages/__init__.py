"""Every message, in one registry.

Reading order: `message_base` (base of messages), `replication_messages` (Produce, Fetch, epochs),
`leadership_messages` (the controller's), `quorum_messages` and `voter_messages` (KRaft's controllers among themselves),
`kraft_messages` (brokers and KRaft's controller), `groups` (committed offsets), `membership` (members of groups),
`transactions` (transactional producers, their coordinator, its markers),
`administration` (topics made, grown and deleted), `configuration` (settings read and changed), `placement` (leaders and
replicas moved), `session_messages` (session service and its clients), `ensemble` (session servers among themselves),
`control` (the injector's own connection), `agents` (a machine's agent), `status_messages` (a node's own view),
`workload_messages` and `consuming` (the player's requests to client processes). Importing this package fills
`message_base.REGISTRY`.
"""

import importlib
import pkgutil

from protocol.messages.message_base import REGISTRY, Message

for _module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["REGISTRY", "Message"]
