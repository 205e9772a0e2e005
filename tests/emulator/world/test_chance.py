"""What a seed varies in the simulated world."""

from emulator.world.simulated.chance import CALM, Draws


def test_which_of_two_brokers_started_together_is_there_first_is_a_race() -> None:
    firsts = set()
    for seed in range(20):
        draws = Draws(seed)
        one, other = draws.start_ms(), draws.start_ms()
        low, high = CALM.start_ms
        assert low <= one <= high
        firsts.add(one < other)
    assert firsts == {True, False}


def test_the_same_seed_draws_the_same() -> None:
    one, other = Draws(7), Draws(7)
    assert [one.start_ms(), one.frame_ms(), one.timer_ms()] == [other.start_ms(), other.frame_ms(), other.timer_ms()]
