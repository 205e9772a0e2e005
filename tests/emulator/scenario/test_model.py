"""Steps within steps."""

from emulator.scenario import scenario_model as m

KILL, START = m.Kill(node="broker-0"), m.Start(node="broker-0")
PAUSE = m.Sleep(seconds=1.0)
LOOK = m.Await(name="b")


def test_steps_are_unfolded_however_deep_and_in_their_order() -> None:
    together = m.Together(steps=(KILL, m.Kill(node="broker-1")))
    deep = m.Repeat(times=3, steps=(PAUSE, m.Background(name="b", step=m.Repeat(times=2, steps=(together, LOOK)))))
    assert [*m.plain_steps([START, deep, LOOK])] == [START, PAUSE, KILL, m.Kill(node="broker-1"), LOOK, LOOK]
    assert [*m.plain_steps([])] == []
