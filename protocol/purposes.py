"""Purposes of connections. The first frame names the purpose; fault rules can use it."""

FETCHER = "fetcher"
"""A follower's replica fetcher to a leader."""
CONTROLLER = "controller"
"""The controller's channel to a broker (its own included).

LeaderAndIsr, UpdateMetadata, StopReplica.
"""
TO_CONTROLLER = "to-controller"
"""A broker's channel to the controller: AlterIsr, ControlledShutdown."""
TRANSACTION = "transaction"
"""A broker to another one: markers of transactions, and their verification."""
QUORUM = "quorum"
"""Nodes of a KRaft quorum among themselves: votes, fetches of the metadata log.

Brokers, which are observers, are included.
"""
NODE_TO_CONTROLLER = "node-to-controller"
"""A broker's channels to the active controller of KRaft.

Registration, heartbeats, AlterPartition, forwarded requests.
"""
SESSION = "session"
"""A session client to a session server."""
ENSEMBLE = "ensemble"
"""Session servers among themselves."""
CLIENT = "client"
"""Producers, consumers and the scenario's player to a broker."""
OBSERVE = "observe"
"""The player's view of the session service."""
CONTROL = "control"
"""The injector's own; no cut touches it."""

ALL = (
    FETCHER, CONTROLLER, TO_CONTROLLER, TRANSACTION, QUORUM, NODE_TO_CONTROLLER, SESSION, ENSEMBLE, CLIENT, OBSERVE,
    CONTROL,
)  # fmt: skip
CONTROLLER_PORT = (QUORUM, NODE_TO_CONTROLLER)
"""Purposes that arrive at the port of a KRaft controller: `cut-controllers` stops these."""
BROKER_PORT = (FETCHER, CONTROLLER, TO_CONTROLLER, TRANSACTION, CLIENT)
"""Purposes that arrive at a broker's port: `cut link` stops these (session traffic passes)."""
