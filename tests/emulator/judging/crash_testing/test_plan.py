"""Plans of death: drawn from the seed alone, and over everything that can die."""

from emulator.judging.crash_testing.crash_plan import (
    drawn,
    mortal_scenarios,
    mortals,
    scenario_of,
    step_count,
    stop_drawn,
)
from emulator.judging.crash_testing.crash_seeds import DeathsOptions, replay_command
from emulator.scenario import scenario_model as m

SEEDS = range(1, 4_000)
SEEDS_EACH = range(1, 100)


def test_a_seed_has_one_plan() -> None:
    assert [drawn(seed) for seed in range(1, 20)] == [drawn(seed) for seed in range(1, 20)]


def test_every_scenario_version_node_and_kind_of_moment_is_drawn() -> None:
    plans = [drawn(seed) for seed in SEEDS]
    assert {plan.scenario for plan in plans} == set(mortal_scenarios())
    versions = {version for name in mortal_scenarios() for version in scenario_of(name).kafka}
    assert {plan.version for plan in plans} == versions
    for name in mortal_scenarios():
        assert {drawn(seed, (name,)).victim for seed in SEEDS_EACH} == set(mortals(scenario_of(name)))
    kinds = {(plan.operations >= 0, plan.later_ms > 0.0, plan.power, plan.again >= 0) for plan in plans}
    assert {(storage, power, again) for storage, _, power, again in kinds} == {
        (storage, power, again) for storage in (False, True) for power in (False, True) for again in (False, True)
    }
    assert all(plan.later_ms == 0.0 for plan in plans if plan.operations >= 0)


def test_dedicated_controllers_have_no_storage_to_die_between() -> None:
    plans = [drawn(seed, ("az-isolated-dedicated-controller",)) for seed in range(1, 200)]
    controllers = [plan for plan in plans if plan.victim.startswith("controller")]
    assert len({plan.victim for plan in controllers}) == 3
    assert {(plan.operations, plan.again) for plan in controllers} == {(-1, -1)}


def test_the_step_is_one_of_the_script() -> None:
    plans = [drawn(seed, ("leader-crash",)) for seed in SEEDS]
    steps = step_count(scenario_of("leader-crash").steps)
    assert {plan.step for plan in plans} == set(range(1, steps + 1))


def test_steps_of_a_repetition_count_each_time() -> None:
    pause = m.Sleep(seconds=1.0)
    assert step_count((pause, m.Repeat(times=3, steps=(pause, pause)))) == 7


def test_plans_can_be_drawn_of_some_scenarios_and_versions_alone() -> None:
    plans = [drawn(seed, ("kip101-case1", "az-isolated-follower"), ("2.0.0", "2.8")) for seed in range(1, 100)]
    assert {plan.scenario for plan in plans} == {"kip101-case1", "az-isolated-follower"}
    assert {plan.version for plan in plans if plan.scenario == "kip101-case1"} == {"2.0.0", "2.8"}
    assert {plan.version for plan in plans if plan.scenario == "az-isolated-follower"} == {"2.8"}
    old = [drawn(seed, (), ("0.8.2",)) for seed in range(1, 100)]
    assert {plan.version for plan in old} == {"0.8.2"} and len({plan.scenario for plan in old}) > 3


def test_the_command_that_replays_a_seed_requests_the_same_plan() -> None:
    requested = DeathsOptions(("leader-crash",), ("2.8",))
    assert replay_command(requested, 7) == (
        "python -m verification.kill_anywhere --runs 1 --first 7 --world sim"
        " --scenario leader-crash --kafka-version 2.8"
    )


def test_orderly_stops_are_of_every_scenario_and_broker_and_are_named() -> None:
    plans = [stop_drawn(seed) for seed in SEEDS]
    assert {plan.scenario for plan in plans} == set(mortal_scenarios())
    assert {(plan.orderly, plan.power, plan.operations, plan.again) for plan in plans} == {(True, False, -1, -1)}
    for name in mortal_scenarios():
        brokers = {node.name for node in scenario_of(name).topology.with_role("broker")}
        assert {plan.victim for plan in plans if plan.scenario == name} == brokers
    reported = stop_drawn(1, ("leader-crash",), ("2.8",)).text
    assert reported.startswith("leader-crash on 2.8: broker-") and " is stopped when step " in reported


def test_an_orderly_stop_is_played_again_by_its_own_option() -> None:
    command = replay_command(DeathsOptions((), (), orderly=True), 7)
    assert command == "python -m verification.kill_anywhere --runs 1 --first 7 --world sim --orderly"
