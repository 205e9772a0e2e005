"""Typed commands, in parts with a caption each. A step ends with its required output."""

from typing import Final, NamedTuple

TITLE: Final = "A cluster that stays: cut while both sides write, healed, audited"
READY_S, ANSWER_S, AUDIT_S = 60.0, 20.0, 240.0
RUN: Final = "runs/three-az-*"


class Step(NamedTuple):
    """A step.

    `shows`: required output, within `limit_s`. `interrupt`: then Ctrl-C, after this output. `settled`: before the step,
    the cluster must have one leader of every partition, and all replicas in its ISR, according to its status.
    """

    command: str
    shows: str
    limit_s: float = ANSWER_S
    interrupt: str = ""
    settled: bool = False


class Part(NamedTuple):
    """`drawn`: in the picture; the recording has all."""

    caption: str
    steps: tuple[Step, ...]
    drawn: bool = False


STORY: Final = (
    Part(
        "Three availability zones, and a topic that broker-0 leads",
        (
            Step("faultline up", "is up after", READY_S),
            Step("faultline topic create t --assignment 0,1,2", "leader 0, epoch 0"),
            Step(
                "faultline produce t a b --acks all --az az-1", "b: acknowledged by broker-0 at offset 1", settled=True
            ),
        ),
    ),
    Part(
        "Its zone is cut off: the others elect broker-1, and broker-0 cannot know",
        (
            Step("faultline cut az-0", "rule-1: cut az-0"),
            Step("faultline status --watch", "DUAL LEADER", READY_S, interrupt="q quit"),
        ),
        drawn=True,
    ),
    Part(
        "Both leaders take writes, at the same offsets",
        (
            Step("faultline produce t c d e --broker 0 --acks 1", "e: acknowledged by broker-0 at offset 4"),
            Step("faultline produce t f g h --az az-1", "h: acknowledged by broker-1 at offset 4"),
            Step("faultline log broker-0 t-0", "the replicas differ at offsets 2-4"),
        ),
        drawn=True,
    ),
    Part(
        "Healed: broker-0 follows, and what only it had is cut away",
        (
            Step("faultline heal", "rule-1: healed"),
            Step("faultline log broker-0 t-0", "the replicas are equal", settled=True),
            Step(f"faultline explain {RUN} c", "cuts its log to 2"),
        ),
    ),
    Part(
        "Which promises were kept? Then the cluster goes",
        (
            Step(f"faultline audit {RUN}", "report: ", AUDIT_S),
            Step("faultline down", "three-az is down"),
        ),
    ),
)
