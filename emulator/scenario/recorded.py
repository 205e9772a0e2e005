"""A recording as a scenario: its script, its settings, and nothing that is expected but the recording itself."""

from emulator.scenario.model import Scenario
from emulator.scenario.observations.comparable import version_name
from emulator.scenario.observations.model import Observations
from emulator.scenario.observations.reading import Malformed
from emulator.scenario.recording import steps_of_recording
from emulator.settings.registry import usable
from protocol.ids import can_be_id

RANDOM_TICK_TIME_MS = 500
"""The random schedules were recorded with tickTime 500, which they don't list: it is the ensemble's, not Kafka's."""


def scenario_of_recording(recording: Observations) -> Scenario:
    """What `run golden/ID@VERSION/N.json` plays. Raises UnknownText, Malformed, UnusableSetting."""
    if not can_be_id(recording.scenario):
        raise Malformed(f"scenario: expected letters, digits, '.', '_' and '-', got {recording.scenario!r}")
    settings = {name: usable(name, value) for name, value in recording.settings.items()}
    if recording.scenario.startswith("random-"):
        settings.setdefault("tickTime", RANDOM_TICK_TIME_MS)
    by_broker = {
        int(broker): {name: usable(name, value) for name, value in given.items()}
        for broker, given in recording.settings_by_broker.items()
    }
    return Scenario(
        id=recording.scenario,
        title=f"{recording.scenario} as recorded on Kafka {recording.kafka}",
        kafka=(version_name(recording.kafka),),
        settings=settings,
        settings_by_broker=by_broker,
        steps=steps_of_recording(recording),
        as_recorded=True,
    )
