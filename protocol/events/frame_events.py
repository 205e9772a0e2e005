"""Events of the wire level: connections and frames."""

from protocol.events.event_base import Event

# fmt: off

class _Wire(Event):
    LEVEL = "wire"


class ConnectionChanged(_Wire):
    """A connection's state: opening, opened, accepted, refused, closed, lost.

    `connection`: NODE.INCARNATION#ID of the opener.
    """
    NAME = "connection_changed"
    connection: str
    peer: str
    purpose: str
    change: str
    reason: str


class FrameSent(_Wire):
    """A frame was sent. `number`: of the frame on this connection in this direction, from 1."""
    NAME = "frame_sent"
    connection: str
    peer: str
    purpose: str
    number: int
    api: str
    api_direction: str
    correlation: int
    size_bytes: int


class FrameReceived(_Wire):
    """A whole frame of the peer was received.

    With `frame_sent` of the same connection and number it is an edge between nodes.
    """
    NAME = "frame_received"
    connection: str
    peer: str
    purpose: str
    number: int
    api: str
    api_direction: str
    correlation: int
    size_bytes: int


class FrameStopped(_Wire):
    """A rule held or dropped a frame at this end."""
    NAME = "frame_stopped"
    connection: str
    peer: str
    purpose: str
    rule: str
    action: str
    api: str
    size_bytes: int


class FrameRefused(_Wire):
    """The peer sent bytes that are no frame; the connection is closed."""
    NAME = "frame_refused"
    connection: str
    peer: str
    reason: str
# fmt: on
