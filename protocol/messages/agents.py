"""Messages between the supervisor and a machine's agent, which starts and signals its node.

A machine is a container. The first frame is a Hello with the run's token. The agent responds to Launch and Signal in
order; it reports ends and halts of processes at any time.
"""

from typing import Annotated

from msgspec import Meta

from protocol.messages.message_base import ONE_WAY, RESPONSE, Int32, Message, register, unit

Pid = Annotated[Int32, unit("process id", "on the agent's machine")]


@register
class LaunchRequest(Message):
    """Start a process; the response follows when its node listens."""

    API_KEY = 1320
    API_NAME = "Launch"
    order: Annotated[bytes, unit("msgpack", "the process's configuration")]


@register
class LaunchResponse(Message):
    """`problem`: reason why there is no process, or ""."""

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
    """`alive` false: the process had already ended."""

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
    """A process was halted, or (`halted` false) continued."""

    API_KEY = 1323
    API_NAME = "ProcessHalted"
    DIRECTION = ONE_WAY
    pid: Pid
    halted: bool
