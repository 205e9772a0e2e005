"""Events of processes: their start and end, and the lateness of their timers."""

from protocol.events.event_base import Event

# fmt: off

class NodeStarted(Event):
    """A process's incarnation begins.

    Versions are those that it emulates; `settings`: those given to it.
    """
    NAME = "node_started"
    roles: str                  # "broker,controller", "session", "client"
    az: str
    kafka_version: str
    protocol_version: str
    settings: str = ""          # "min.insync.replicas=2 replica.lag.time.max.ms=4000"


class NodeStopped(Event):
    """Last event of an orderly end, and of the run: every earlier event is there, or missed.

    `code` 0: requested; otherwise the process ended by itself, with `reason`, and `kind` in one word
    (protocol/kinds.py).
    """
    NAME = "node_stopped"
    code: int
    reason: str
    kind: str = ""


class TimerLateness(Event):
    """Lateness of this process's timers, in scenario ms, since the last such event.

    Network world only. The shell's timer of every 20 ms of real time is included, so that every process has some.
    """
    NAME = "timer_lateness"
    timers: int
    p50_ms: float
    p999_ms: float
    max_ms: float
    buckets: str                # "1:40 119:2": late by at most 1 ms, 119 ms; to be added up (protocol.lateness)
# fmt: on
