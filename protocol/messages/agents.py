"""Keeping: what the supervisor says to the agent of a machine (a container), which starts and signals its node.

The first frame is a Hello with the run's token. Launch and Signal are answered in order; how processes end and stand
still is told whenever it happens.
"""

from typing import Annotated

from msgspec import Meta

from protocol.messages.base import ONE_WAY, RESPONSE, Int32, Message, register, unit

Pid = Annotated[Int32, unit("process id", "on the agent's machine")]


@register
class LaunchRequest(Message):
    """A new process, whose node listens when this is answered."""

    API_KEY = 1320
    API_NAME = "Launch"
    order: Annotated[bytes, unit("msgpack", "what the process is told")]


@register
class LaunchResponse(Message):
    """`problem` "" or why there is no process."""

    API_KEY = 1320
    API_NAME = "Launch"
    DIRECTION = RESPONSE
    pid: Pid
    problem: str = ""


@register
class SignalRequest(Message):
    API_KEY = 1321
    API_NAME = "Signal"
    pid: Pid
    number: Annotated[int, Meta(ge=0, le=64), unit("signal number")]


@register
class SignalResponse(Message):
    """`alive` false: the process had ended before."""

    API_KEY = 1321
    API_NAME = "Signal"
    DIRECTION = RESPONSE
    alive: bool


@register
class ProcessEnded(Message):
    API_KEY = 1322
    API_NAME = "ProcessEnded"
    DIRECTION = ONE_WAY
    pid: Pid
    code: Annotated[Int32, unit("exit code", "or minus the signal")]


@register
class ProcessHalted(Message):
    """`halted` false: it goes on."""

    API_KEY = 1323
    API_NAME = "ProcessHalted"
    DIRECTION = ONE_WAY
    pid: Pid
    halted: bool
