"""Control messages: the first frame of every connection, and the injector's own connection.

`Hello` opens every TCP connection of the network world. The supervisor's connection to a node (purpose `control`),
which no cut affects, carries rules and the order to begin; every request has a response.
"""

from typing import Annotated

from protocol.hardware import Hardware
from protocol.link_rules import LinkRule
from protocol.messages.message_base import ONE_WAY, RESPONSE, Count, Int32, Int64, Message, Name, register, unit

ScenarioMillis = Annotated[float, unit("ms", "scenario time, from the cluster's launch")]


@register
class Hello(Message):
    """Opener and purpose of this connection.

    Not counted among the connection's frames (it is number 0).
    """

    API_KEY = 1300
    API_NAME = "Hello"
    DIRECTION = ONE_WAY
    node: Annotated[Name, unit("node name")]
    incarnation: Annotated[Int32, unit("incarnations of this node, from 1")]
    connection: Annotated[Int64, unit("connection id", "positive, of the opener")]
    purpose: Annotated[Name, unit("purpose")]
    token: Annotated[Name, unit("hex", "of the run; another run's node is refused")]


@register
class BeginRequest(Message):
    """Rules in force, first on the control connection, before the node opens or accepts others."""

    API_KEY = 1301
    API_NAME = "Begin"
    rules: tuple[LinkRule, ...] = ()


@register
class BeginResponse(Message):
    """The machine has handled its first input."""

    API_KEY = 1301
    API_NAME = "Begin"
    DIRECTION = RESPONSE
    began_ms: ScenarioMillis


@register
class ApplyRuleRequest(Message):
    API_KEY = 1302
    API_NAME = "ApplyRule"
    rule: LinkRule


@register
class ApplyRuleResponse(Message):
    API_KEY = 1302
    API_NAME = "ApplyRule"
    DIRECTION = RESPONSE
    rule: str
    in_force_ms: ScenarioMillis


@register
class HealRuleRequest(Message):
    """`packets_dropped`: by the kernel's packet filter at this node, which already passes again."""

    API_KEY = 1303
    API_NAME = "HealRule"
    rule: str
    packets_dropped: Annotated[Count, unit("packets")] = 0


@register
class HealRuleResponse(Message):
    """`was_in_force` false: this node did not know the rule, and nothing changed."""

    API_KEY = 1303
    API_NAME = "HealRule"
    DIRECTION = RESPONSE
    rule: str
    healed_ms: ScenarioMillis
    was_in_force: bool
    frames_stopped: Annotated[Count, unit("frames")] = 0


@register
class RuleCountsRequest(Message):
    API_KEY = 1304
    API_NAME = "RuleCounts"


@register
class RuleCountsResponse(Message):
    """Counts of every rule in this incarnation of the node, healed ones included."""

    API_KEY = 1304
    API_NAME = "RuleCounts"
    DIRECTION = RESPONSE
    frames_stopped: Annotated[dict[str, Count], unit("frames", "{rule: held, dropped, delayed or lost here}")]


@register
class EndRequest(Message):
    """End of the run: write pending data and exit, without the machine."""

    API_KEY = 1305
    API_NAME = "End"


@register
class EndResponse(Message):
    """All data is in the files."""

    API_KEY = 1305
    API_NAME = "End"
    DIRECTION = RESPONSE


@register
class PauseRequest(Message):
    """The injector is about to stop this process with a signal.

    How late timers are is not counted before `Paused`."""

    API_KEY = 1306
    API_NAME = "Pause"


@register
class PauseResponse(Message):
    """The process is ready for the signal."""

    API_KEY = 1306
    API_NAME = "Pause"
    DIRECTION = RESPONSE


@register
class PausedRequest(Message):
    """The injector's own stop of this process, from its SIGSTOP to its SIGCONT.

    This time alone is no lateness."""

    API_KEY = 1311
    API_NAME = "Paused"
    from_ms: ScenarioMillis
    to_ms: ScenarioMillis


@register
class PausedResponse(Message):
    """Timers are counted again."""

    API_KEY = 1311
    API_NAME = "Paused"
    DIRECTION = RESPONSE


@register
class BreakDiskRequest(Message):
    """Fill or fail the node's disk, or one folder of it, from now on.

    A full disk lasts for the rest of this incarnation, since a restart frees it. A failed disk fails every operation,
    in later incarnations too.
    """

    API_KEY = 1307
    API_NAME = "BreakDisk"
    folder: Annotated[str, unit("name", "a log directory; empty: the whole disk")] = ""
    fails: Annotated[bool, unit("flag")] = False


@register
class BreakDiskResponse(Message):
    """`used_bytes`: bytes on the disk; -1: this node has none."""

    API_KEY = 1307
    API_NAME = "BreakDisk"
    DIRECTION = RESPONSE
    broken_ms: ScenarioMillis
    used_bytes: Annotated[Int64, unit("bytes")]


@register
class FlushRequest(Message):
    """Write all events so far to the files: the process is about to be killed."""

    API_KEY = 1308
    API_NAME = "Flush"


@register
class FlushResponse(Message):
    """All events so far are in the files."""

    API_KEY = 1308
    API_NAME = "Flush"
    DIRECTION = RESPONSE


@register
class SetHardwareRequest(Message):
    """Set the properties of this node's machine from now on."""

    API_KEY = 1309
    API_NAME = "SetHardware"
    hardware: Hardware


@register
class SetHardwareResponse(Message):
    """The properties are in force."""

    API_KEY = 1309
    API_NAME = "SetHardware"
    DIRECTION = RESPONSE
    since_ms: ScenarioMillis
