"""Purposes of connections. The first frame names the purpose; fault rules can use it."""

FETCHER = "fetcher"
"""A follower's replica fetcher to a leader."""
CONTROLLER = "controller"
"""The controller's channel to a broker (its own included).

LeaderAndIsr, UpdateMetadata, StopReplica.
"""
TO_CONTROLLER = "to-controller"
"""A broker's channel to the controller: AlterIsr, ControlledShutdown."""
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

ALL = (FETCHER, CONTROLLER, TO_CONTROLLER, SESSION, ENSEMBLE, CLIENT, OBSERVE, CONTROL)
BROKER_PORT = (FETCHER, CONTROLLER, TO_CONTROLLER, CLIENT)
"""Purposes that arrive at a broker's port: `cut link` stops these (session traffic passes)."""
