"""Whether a cluster has come to rest, from what its nodes say."""

from typing import Any

import pytest

from faultline.settled import settled


def view(*, leads: bool = False, epoch: int = 1, isr: tuple[int, ...] = (0, 1, 2), end: int = 5) -> dict[str, Any]:
    return {"is_leader": leads, "leader_epoch": epoch, "isr": list(isr), "high_watermark": end, "log_end": end}


def status(*views: dict[str, Any], dead: tuple[int, ...] = ()) -> dict[str, Any]:
    names = [f"broker-{number}" for number in range(len(views))]
    return {
        "nodes": {name: {"alive": number not in dead} for number, name in enumerate(names)},
        "partitions": {"t-0": dict(zip(names, views, strict=True))},
    }


LEADER = view(leads=True)


@pytest.mark.parametrize(
    "given",
    [
        status(LEADER, view(), view()),
        status(view(leads=True, isr=(0, 1)), view(), view(end=2), dead=(2,)),
        {"nodes": {}, "partitions": {}},
    ],
    ids=["all", "one is dead", "no topic"],
)
def test_at_rest(given: dict[str, Any]) -> None:
    assert settled(given)


@pytest.mark.parametrize(
    "given",
    [
        status(view(), view(), view()),
        status(LEADER, view(leads=True), view()),
        status(LEADER, view(epoch=0), view()),
        status(LEADER, view(end=4), view()),
        status(view(leads=True, isr=(0, 1)), view(), view()),
        status(LEADER, view(), view(), dead=(0,)),
        status(LEADER, dead=(0,)),
    ],
    ids=[
        "no leader",
        "two",
        "an old epoch",
        "a shorter log",
        "out of the ISR",
        "the leader is dead",
        "no broker lives",
    ],
)
def test_not_yet(given: dict[str, Any]) -> None:
    assert not settled(given)
