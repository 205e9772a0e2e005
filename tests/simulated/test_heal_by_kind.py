"""A heal of one kind of fault: what other rules do to the same links goes on."""

import pytest

from tests.simulated.cluster import BEGIN, Cluster

TWO = """
  - delay: {link: [0, session], delay_ms: 40}
  - delay: {az: 2, delay_ms: 20}
  - cut: {link: [0, session]}
  - sleep: 2
"""


@pytest.mark.parametrize(
    ("heal", "left"),
    [
        ("heal", []),
        ("heal: {kind: cut}", ["delay broker-0 session 40ms", "delay az-2 20ms"]),
        ("heal: {link: [0, session], kind: cut}", ["delay broker-0 session 40ms", "delay az-2 20ms"]),
        ("heal: {link: [0, session], kind: delay}", ["delay az-2 20ms", "cut broker-0 session"]),
        ("heal: {kind: delay}", ["cut broker-0 session"]),
        ("heal: {link: [0, session]}", ["delay az-2 20ms"]),
        ("heal: {az: 0, kind: cut}", ["delay broker-0 session 40ms", "delay az-2 20ms", "cut broker-0 session"]),
    ],
)
def test_what_is_left(heal: str, left: list[str]) -> None:
    cluster = Cluster(BEGIN + TWO + f"  - {heal}\n")
    cluster.run()
    assert cluster.finished
    assert [rule.what for rule in cluster.world.in_force.values()] == left
