"""A request's cost to a broker grows linearly with its size, whatever it lists."""

import gc
from collections.abc import Iterator

import pytest

from verification.attack.heavy_requests import Broker, Heavy, heavy_requests

pytestmark = pytest.mark.slow

FEW, MANY = 250, 2_000
TIMES = MANY // FEW
MORE_THAN_LINEAR = 3.0
"""Factor of work; quadratic growth would cost `TIMES` times more.

The machine's other load does not.
"""
NEGLIGIBLE_S = 0.004
"""Number of entries; fewer are not compared.

Four times as much would still be within the budget at the bound.
"""


@pytest.fixture(autouse=True)
def without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def pairs(version: str) -> Iterator[tuple[Heavy, Heavy]]:
    namings = ("same", "distinct", "known")
    yield from zip(
        heavy_requests(version, FEW, namings=namings, newest=True),
        heavy_requests(version, MANY, namings=namings, newest=True),
        strict=True,
    )


def least(broker: Broker, heavy: Heavy, times: int) -> float:
    return min(broker.cost(heavy.payload).total_s for _ in range(times))


@pytest.mark.parametrize("version", ["0.10.2", "2.8"])
def test_work_grows_with_the_number_of_entries_and_no_faster(version: str) -> None:
    broker = Broker(version)
    too_much = []
    for few, many in pairs(version):
        most = least(broker, many, 2)
        if most < NEGLIGIBLE_S or most <= TIMES * MORE_THAN_LINEAR * least(broker, few, 2):
            continue
        most = least(broker, many, 5)  # again, on a machine that may have been busy
        if most > TIMES * MORE_THAN_LINEAR * least(broker, few, 5):
            too_much.append((many.name, most))
    assert not too_much
