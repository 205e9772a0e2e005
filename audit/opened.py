"""Inputs of `faultline sql`: runs or campaigns, and their tables.

Each query makes the tables that it names anew: so it sees a live cluster as it is now, and does not wait for other
tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from audit.campaign_views import CAMPAIGN_VIEWS, ROWS_COLUMNS, ROWS_TABLE, RUNS_HOLDS, create_campaign_views
from audit.input import AuditInputError, UnusableRun, look_for_runs
from audit.views import (
    EVENT_COLUMNS,
    EVENTS,
    EVENTS_HOLDS,
    HIDDEN,
    KEPT_BYTES_MAX,
    OLD_NAMES,
    VIEWS,
    View,
    described,
)
from emulator.judging.campaigns.dataset import UnusableCampaign, files_of, is_campaign

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


ROWS_BYTES_SMALL = 1 << 20
"""Maximum size of a campaign's small files, which are compressed: some ten thousand runs."""


class Opened(ABC):
    """Opened runs as tables. `names`: of the tables; `words`: completions for Tab.

    `size_bytes`: of the tables' source files. `unusable`: requested runs that are in no table. `small`: too little data
    to compile queries. `hidden`: tables that a query may find, but that are not for users.
    """

    small_bytes_max: int
    views: tuple[View, ...]
    first: tuple[str, str]
    """(table from which the others are made, its description)."""
    columns: Mapping[str, str]
    """{column of the first table: its SQL type}"""
    old_names: Mapping[str, str] = {}
    """{old name of a table, still accepted: its name}"""
    hidden: tuple[str, ...] = ()

    def __init__(self, size_bytes: int, unusable: Sequence[UnusableRun] = ()) -> None:
        self.size_bytes = size_bytes
        self.unusable = unusable

    @property
    def small(self) -> bool:
        return self.size_bytes <= self.small_bytes_max

    @property
    def names(self) -> tuple[str, ...]:
        return (self.first[0], *(view.name for view in self.views))

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.names, *self.columns)

    @property
    def tables(self) -> dict[str, Mapping[str, str]]:
        """{table: {column: its SQL type}}"""
        return {self.first[0]: self.columns, **{view.name: view.types(self.columns) for view in self.views}}

    def described(self) -> str:
        return described(self.views, self.first)

    @abstractmethod
    def create(self, spark: SparkSession, query: str) -> None:
        """Create the tables that `query` names. Raises AuditInputError."""

    @abstractmethod
    def forget(self) -> None:
        """Release the data that was kept for the query."""


class OpenedRuns(Opened):
    small_bytes_max = KEPT_BYTES_MAX
    views = VIEWS
    first = (EVENTS, EVENTS_HOLDS)
    columns = EVENT_COLUMNS
    old_names = OLD_NAMES
    hidden = HIDDEN

    def __init__(self, given: Sequence[str]) -> None:
        self._given = given
        self._events: DataFrame | None = None
        runs, unusable = look_for_runs(given)
        if not runs:
            raise AuditInputError("; ".join(one.why for one in unusable))
        super().__init__(sum(run.size_bytes for run in runs), unusable)

    def create(self, spark: SparkSession, query: str) -> None:
        from audit.view_creation import create_views

        self._events = create_views(spark, look_for_runs(self._given)[0], query)

    def forget(self) -> None:
        if self._events is not None:
            self._events.unpersist()
            self._events = None


class OpenedCampaigns(Opened):
    small_bytes_max = ROWS_BYTES_SMALL
    views = CAMPAIGN_VIEWS
    first = (ROWS_TABLE, RUNS_HOLDS)
    columns = ROWS_COLUMNS

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = directories
        try:
            files = [path for directory in directories for path in files_of(directory)]
        except UnusableCampaign as error:
            raise AuditInputError(str(error)) from error
        super().__init__(sum(path.stat().st_size for path in files))

    def create(self, spark: SparkSession, query: str) -> None:
        create_campaign_views(spark, self._directories, query)

    def forget(self) -> None:
        pass


def opened(given: Sequence[str]) -> Opened:
    """Open runs or campaigns. Raises AuditInputError, also where both are mixed."""
    campaigns = [Path(one) for one in given if is_campaign(Path(one))]
    if not campaigns:
        return OpenedRuns(given)
    if len(campaigns) < len(given):
        other = next(one for one in given if not is_campaign(Path(one)))
        raise AuditInputError(f"{campaigns[0]} is a campaign and {other} is none; open one or the other")
    return OpenedCampaigns(campaigns)
