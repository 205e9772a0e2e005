"""Processes: they begin and end, and how late their timers fired."""

from protocol.events.base import Event

# fmt: off

class NodeStarted(Event):
    """A life of a process begins; its versions are what it was told to play, `settings` those that somebody gave it."""
    NAME = "node_started"
    roles: str                  # "broker,controller", "session", "client"
    az: str
    kafka_version: str
    protocol_version: str
    settings: str = ""          # "min.insync.replicas=2 replica.lag.time.max.ms=4000"


class NodeStopped(Event):
    """Last event of an orderly end, that of the run too: so whatever was written before it is there, or missed. `code`
    0: asked for; otherwise it died by itself, `reason` says why, and `kind` in one word (protocol/kinds.py)."""
    NAME = "node_stopped"
    code: int
    reason: str
    kind: str = ""


class TimerLateness(Event):
    """How late this process's timers fired, in scenario ms, since the last such event. Network world only. A timer
    that the shell sets every 20 ms of real time is among them, so that every process has some."""
    NAME = "timer_lateness"
    timers: int
    p50_ms: float
    p999_ms: float
    max_ms: float
    buckets: str                # "1:40 119:2": late by at most 1 ms, 119 ms; to be added up (protocol.lateness)
# fmt: on
