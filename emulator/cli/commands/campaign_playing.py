"""Plays a campaign for `sim` and `sweep`: in memory, or into a directory that is resumed."""

from collections.abc import Callable, Sequence
from pathlib import Path

from emulator.cli.commands.progress_bar import progress_of, resume_hint
from emulator.cli.on_spark import players_of
from emulator.judging.campaigns.campaign_runs import CampaignOptions, play_runs
from emulator.judging.campaigns.dataset import About, rows_of, writing
from emulator.judging.campaigns.row import Row
from emulator.runs.cores import collect


def play_campaign(
    options: CampaignOptions,
    numbers: Sequence[int],
    about: Callable[[], About],
    group: Callable[[Row], object],
    *,
    title: str,
    out: Path | None,
    master: str | None,
) -> int:
    """Play the runs that `out` does not have, and group all rows; returns how many it had.

    An interrupt leaves no process; rows in `out` are kept. Raises UnusableCampaign, NotEmpty, ForeignDirectory,
    NotOnSpark.
    """
    if out is None:
        with players_of(master) as players, progress_of(title, len(numbers)) as ended:
            collect(play_runs(options, numbers, players), group, ended)
        return 0
    wanted = about()
    with writing(out, wanted) as campaign, resume_hint(wanted.command, out), players_of(master) as players:
        before = len(campaign.done)
        missing = [number for number in numbers if number not in campaign.done]
        with progress_of(title, len(missing) + before, before) as ended:
            collect(play_runs(options, missing, players), campaign.add, ended)
    for row in rows_of(out):
        group(row)
    return before
