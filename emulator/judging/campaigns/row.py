"""A campaign's row: options and results of one run. docs/campaigns.md is generated from it.

Counts and measures are null if not measured: nothing could be judged, or no client wrote from that AZ.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from emulator.check_table import CHECKS

FORMAT: Final = 1
"""Version of the rows and of campaign.json.

New fields keep it; a change of a field's meaning increments it.
"""


def _doc(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class CheckRow(msgspec.Struct, frozen=True):
    """One check of one run, as in verdict.json."""

    check: Annotated[str, _doc("its name")]
    verdict: Annotated[str, _doc("held, violated, unknown or skipped")]
    expected: Annotated[bool, _doc("whether the scenario, unchanged, expects a violation")]
    count: Annotated[int, _doc("violations")]
    judged: Annotated[int, _doc("count of judged subjects")]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One run. The partition columns of the data set come first."""

    scenario: Annotated[str, _doc("the scenario's id; a folder of the data set")]
    kafka_version: Annotated[str, _doc("the emulated version; a folder of the data set")]
    number: Annotated[int, _doc("number of the run in the campaign, from 0; unique")]
    cell: Annotated[int, _doc("number of the choice of version, settings and parameters, from 0; a cell has all seeds")]
    seed: Annotated[int, _doc("seed of all random choices")]
    settings: Annotated[dict[str, str], _doc("settings that are not the scenario's own, by Kafka's name")]
    parameters: Annotated[dict[str, str], _doc("changed parameters of the scenario's steps")]
    faults: Annotated[tuple[str, ...], _doc("faults of links and nodes, in order; each once")]
    valid: Annotated[str, _doc("whether the run is as the scenario, unchanged, expects: true, false, unknown")]
    code: Annotated[int, _doc("the exit code of the run by itself")]
    error: Annotated[str, _doc("why there is no run, or why it did not end")] = ""
    broken: Annotated[tuple[str, ...], _doc("why it is not as the scenario expects, a sentence each")] = ()
    unknown_because: Annotated[tuple[str, ...], _doc("why the run is inconclusive, whatever was found in it")] = ()
    checks: Annotated[tuple[CheckRow, ...], _doc("the oracle's verdict on each promise")] = ()
    acknowledged: Annotated[int | None, _doc("records whose write was acknowledged, or sent with acks=0")] = None
    refused: Annotated[int | None, _doc("writes that ended as failed")] = None
    undecided: Annotated[int | None, _doc("writes whose outcome the client does not know")] = None
    lost: Annotated[int | None, _doc("acknowledged records that the final leader does not have")] = None
    duplicated: Annotated[int | None, _doc("records that the log has more often than they were sent")] = None
    reordered: Annotated[int | None, _doc("acknowledged records out of order")] = None
    diverged: Annotated[int | None, _doc("differences between final logs of replicas")] = None
    unavailable_ms: Annotated[
        dict[str, float | None], _doc("by AZ, total time of the worst client's failing writes; null: no client wrote")
    ] = {}
    time_to_new_leader_ms: Annotated[float | None, _doc("from the first fault to the first later leader")] = None
    dual_leader_ms: Annotated[float | None, _doc("longest time during which a partition had two leaders")] = None
    dual_controller_ms: Annotated[float | None, _doc("longest time during which there were two controllers")] = None
    isr_shrinks: Annotated[int | None, _doc("successful changes to an ISR of fewer replicas")] = None
    isr_expands: Annotated[int | None, _doc("successful changes to an ISR of more replicas")] = None
    exits: Annotated[int | None, _doc("processes that ended by themselves")] = None
    recording: Annotated[str, _doc("the recording of real Kafka that it equals; empty: none, or none to compare")] = ""
    races: Annotated[tuple[str, ...], _doc("races of the scenario by which it equals the recording")] = ()
    differences: Annotated[tuple[str, ...], _doc("first differences from the nearest recording")] = ()
    outcome: Annotated[str, _doc("digest of all that must match a recording")] = ""
    trace: Annotated[str, _doc("digest of the trace without times")] = ""
    simulated_s: Annotated[float, _doc("seconds of the scenario")] = 0.0
    wall_s: Annotated[float, _doc("wall-clock seconds")] = 0.0
    inputs: Annotated[int, _doc("inputs of all machines")] = 0
    replay: Annotated[str, _doc("the command that replays the run")] = ""

    @property
    def judged(self) -> bool:
        """Whether its counts are conclusive."""
        return not self.error and not self.unknown_because


PARTITIONED_BY: Final = ("scenario", "kafka_version")
COUNTS: Final = {record.column: name for name, record in CHECKS.items() if record.column}
"""{column: the check whose violations it counts}"""


def described(kind: type[msgspec.Struct]) -> Mapping[str, tuple[Any, str]]:
    """{field: (its type, its description)}, in order."""
    found = {}
    for field in msgspec.structs.fields(kind):
        base, meta = field.type.__args__[0] if hasattr(field.type, "__args__") else field.type, field.type.__metadata__
        found[field.name] = (base, str(meta[0].description))
    return found
