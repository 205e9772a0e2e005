"""Scenario cap-choice over its whole matrix: which choices keep what they acknowledge."""

from itertools import product

import pytest

from docs.generate.cap_choice import ACKS, MIN_INSYNC, SPACE, UNCLEAN, VERSION, Choice, Outcome, played, rows
from emulator.judging.campaigns.campaign_runs import CampaignOptions, CampaignWorker
from emulator.judging.judged import play_and_judge
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario

pytestmark = pytest.mark.slow

CHOICES = tuple(Choice(*values) for values in product(ACKS, MIN_INSYNC, UNCLEAN))


def loses_what_it_acknowledged(choice: Choice) -> bool:
    """acks=1 does, where the leader is cut off.
    So does acks=0, whose writes count once they are sent. acks=all does if one replica is all, and another may lead
    uncleanly.
    """
    return choice.acks != "all" or (choice.min_insync == 1 and choice.unclean)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_acknowledged_records_are_lost_only_under_settings_that_allow_it(choice: Choice) -> None:
    overrides = {
        "producer.acks": choice.acks,
        "min.insync.replicas": choice.min_insync,
        "unclean.leader.election.enable": choice.unclean,
    }
    for version, seed in (("2.8", 2), ("2.6", 3))[: 2 if choice.min_insync == 1 else 1]:
        run = play_and_judge(resolve(find_scenario("cap-choice"), version, overrides), seed, run=str(seed))
        verdict = run.verdict.checks["lost-acknowledged"].verdict
        assert verdict == ("violated" if loses_what_it_acknowledged(choice) else "held"), (version, seed, choice)


@pytest.mark.parametrize("number", [0, 6, 9, 17])
def test_the_sweep_counts_what_the_page_names(number: int) -> None:
    """acks=0, 1, 1 with unclean elections, all with three in sync."""
    row = CampaignWorker(CampaignOptions(SPACE)).play(number)
    chosen = SPACE.draw(number).chosen
    unclean = chosen["unclean.leader.election.enable"] == "true"
    choice = Choice(chosen["producer.acks"], int(chosen["min.insync.replicas"]), unclean)
    named = played(find_scenario("cap-choice"), VERSION, choice).values()
    assert row.lost == sum(len(outcome.lost.split(",")) for outcome in named if outcome.lost != "nothing")
    assert row.judged and row.acknowledged is not None and row.acknowledged >= 3


def test_the_choice_of_consistency_refuses_on_both_sides_rather_than_lose() -> None:
    """acks=all with all three replicas in sync required: every write is refused.
    The page's table, one line of it.
    """
    outcomes = played(find_scenario("cap-choice"), "2.8", Choice("all", 3, False))
    assert outcomes["isolated-0"] == Outcome(
        minority_writes="REQUEST_TIMED_OUT",
        minority_reads="old",
        majority_writes="NOT_ENOUGH_REPLICAS",
        majority_reads="old",
        lost="nothing",
    )


def test_choices_with_the_same_outcome_share_a_row_only_if_they_are_all_combinations() -> None:
    one, other = (Outcome(*[name] * 5) for name in ("one", "other"))
    outcomes = {choice: one for choice in CHOICES if choice.acks == "all"}
    outcomes[Choice("all", 2, True)] = outcomes[Choice("all", 3, True)] = other
    assert [row[:4] for row in rows(outcomes)] == [
        ("all", "1", "no or yes", "one"),
        ("all", "2, 3", "no", "one"),
        ("all", "2, 3", "yes", "other"),
    ]
