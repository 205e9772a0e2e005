"""A campaign's row: one run, what it was and what came of it. docs/campaigns.md is written from here.

Counts and measures are null where they were not measured: nothing could be judged, or nobody wrote from that AZ.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

FORMAT: Final = 1
"""Of the rows, and of campaign.json. Fields are added, and keep their meaning; a number more where one does not."""


def _doc(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class CheckRow(msgspec.Struct, frozen=True):
    """One check of one run, as in verdict.json."""

    check: Annotated[str, _doc("its name")]
    verdict: Annotated[str, _doc("held, violated, unknown or skipped")]
    expected: Annotated[bool, _doc("the scenario, as it stands, is there to violate it")]
    count: Annotated[int, _doc("violations")]
    judged: Annotated[int, _doc("how many of what was looked at")]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One run. What partitions the data set comes first."""

    scenario: Annotated[str, _doc("the scenario's id; a folder of the data set")]
    kafka_version: Annotated[str, _doc("the emulated version; a folder of the data set")]
    number: Annotated[int, _doc("which run of the campaign, from 0: no two rows have the same")]
    cell: Annotated[int, _doc("which choice of version, settings and parameters, from 0; seeds are within a cell")]
    seed: Annotated[int, _doc("what chance was drawn from")]
    settings: Annotated[dict[str, str], _doc("settings that are not the scenario's own, by Kafka's name")]
    parameters: Annotated[dict[str, str], _doc("what of the scenario's steps was changed")]
    faults: Annotated[tuple[str, ...], _doc("what was done to links and machines, in order; each once")]
    valid: Annotated[str, _doc("what the scenario expects: true, false, unknown; of its own settings alone")]
    code: Annotated[int, _doc("the exit code of the run by itself")]
    error: Annotated[str, _doc("why there is no run, or it was not played to its end")] = ""
    broken: Annotated[tuple[str, ...], _doc("why it is not as the scenario expects, a sentence each")] = ()
    unknown_because: Annotated[tuple[str, ...], _doc("why the run can say nothing, whatever was found in it")] = ()
    checks: Annotated[tuple[CheckRow, ...], _doc("what the oracle says of each promise")] = ()
    acknowledged: Annotated[int | None, _doc("records whose write was acknowledged, or sent with acks=0")] = None
    refused: Annotated[int | None, _doc("writes that ended as failed")] = None
    undecided: Annotated[int | None, _doc("writes of which the client never learnt what became")] = None
    lost: Annotated[int | None, _doc("acknowledged records that the final leader does not have")] = None
    duplicated: Annotated[int | None, _doc("records that are there more often than they were sent")] = None
    reordered: Annotated[int | None, _doc("acknowledged records out of order")] = None
    diverged: Annotated[int | None, _doc("differences between logs of replicas, in the end")] = None
    unavailable_ms: Annotated[
        dict[str, float | None], _doc("by AZ, how long writes kept failing, of the worst client; null: none wrote")
    ] = {}
    time_to_new_leader_ms: Annotated[float | None, _doc("from the first fault to the first later leader")] = None
    dual_leader_ms: Annotated[float | None, _doc("the longest time for which a partition had two leaders")] = None
    dual_controller_ms: Annotated[float | None, _doc("the same of controllers")] = None
    isr_shrinks: Annotated[int | None, _doc("how often a leader was granted an ISR of fewer replicas")] = None
    isr_expands: Annotated[int | None, _doc("the same, of more")] = None
    exits: Annotated[int | None, _doc("processes that ended by themselves")] = None
    recording: Annotated[str, _doc("the recording of real Kafka that it equals; empty: none, or none to compare")] = ""
    races: Annotated[tuple[str, ...], _doc("races of the scenario by which it equals the recording")] = ()
    differences: Annotated[tuple[str, ...], _doc("the first from the nearest recording")] = ()
    outcome: Annotated[str, _doc("digest of all that must match a recording")] = ""
    trace: Annotated[str, _doc("digest of the trace without times")] = ""
    simulated_s: Annotated[float, _doc("seconds of the scenario")] = 0.0
    wall_s: Annotated[float, _doc("seconds that it took")] = 0.0
    inputs: Annotated[int, _doc("inputs of all machines")] = 0
    replay: Annotated[str, _doc("the command that plays it again")] = ""

    @property
    def judged(self) -> bool:
        """Whether its counts say anything."""
        return not self.error and not self.unknown_because


PARTITIONED_BY: Final = ("scenario", "kafka_version")
COUNTS: Final = {
    "lost": "lost-acknowledged",
    "duplicated": "duplicate",
    "reordered": "reordered",
    "diverged": "replica-divergence",
}
"""{column: the check whose violations it counts}"""


def described(kind: type[msgspec.Struct]) -> Mapping[str, tuple[Any, str]]:
    """{field: (its type, what it means)}, in order."""
    found = {}
    for field in msgspec.structs.fields(kind):
        base, meta = field.type.__args__[0] if hasattr(field.type, "__args__") else field.type, field.type.__metadata__
        found[field.name] = (base, str(meta[0].description))
    return found
