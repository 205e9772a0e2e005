"""A recording as a scenario: its script and settings; the recording itself is expected."""

from msgspec import UNSET

from emulator.scenario.document import ScenarioErrors
from emulator.scenario.load import load_scenario
from emulator.scenario.observations.comparable import version_name
from emulator.scenario.observations.observation_model import COMBINED, Observations
from emulator.scenario.observations.recording_parsing import Malformed
from emulator.scenario.recording import ACTIVE_CONTROLLER, steps_of_recording
from emulator.scenario.scenario_model import Scenario
from emulator.scenario.write import written
from emulator.settings.setting_registry import usable
from emulator.topology import KRAFT, three_azs
from protocol.ids import can_be_id

NOT_WRITABLE = (TypeError, ValueError, KeyError, AttributeError, AssertionError)
"""Exceptions of values of the wrong type when a step is written."""
RANDOM_TICK_TIME_MS = 500
"""tickTime of the random schedules' recordings, in ms.

They do not list it: it is the ensemble's, not Kafka's.
"""


def scenario_of_recording(recording: Observations) -> Scenario:
    """The scenario of `run golden/ID@VERSION/N.json`.

    Raises UnknownText, Malformed, UnusableSetting, UnknownVersion.
    """
    if not can_be_id(recording.scenario):
        raise Malformed(f"scenario: expected letters, digits, '.', '_' and '-', got {recording.scenario!r}")
    settings = {name: usable(name, value) for name, value in recording.settings.items()}
    kraft = recording.mode == KRAFT
    if recording.scenario.startswith("random-") and not kraft:
        settings.setdefault("tickTime", RANDOM_TICK_TIME_MS)
    of_controllers = {} if recording.controller_settings is UNSET else recording.controller_settings
    by_broker = {
        int(broker): {name: usable(name, value) for name, value in given.items()}
        for broker, given in recording.settings_by_broker.items()
    }
    return Scenario(
        id=recording.scenario,
        title=f"{recording.scenario} as recorded on Kafka {recording.kafka}",
        kafka=(version_name(recording.kafka),),
        topology=three_azs(metadata=KRAFT, combined=recording.nodes == COMBINED) if kraft else three_azs(),
        settings=settings,
        settings_by_broker=by_broker,
        controller_settings={name: usable(name, value) for name, value in of_controllers.items()},
        steps=steps_of_recording(recording),
        as_recorded=True,
        first_controller=first_controller(recording) if kraft else None,
    )


def first_controller(recording: Observations) -> int | None:
    """Number of the controller that won the first election; None: not observed.

    The first answers to DescribeQuorum show it, or the script requires it (`saw active-controller`). That election is a
    race before the script, so its result is a precondition (tests/golden/README-kraft.md). If the script requires
    another controller, the recorder killed this one, and so does the step: brokers that were refused meanwhile wait
    longer for their next connection to it.
    """
    required = [entry.get("controller") for entry in recording.timeline if entry.get("saw") == ACTIVE_CONTROLLER]
    views = recording.quorum_views or ()
    shown = [view["controller"] for view in views if view.get("leader") is not None]
    return next((number for number in (*shown[:1], *required[:1]) if isinstance(number, int)), None)


def checked(scenario: Scenario, name: str) -> Scenario:
    """The scenario of a recording if a file could express it. Raises Malformed.

    The same bounds, nodes and settings.
    """
    try:
        return load_scenario(written(scenario), name)
    except ScenarioErrors as error:
        raise Malformed(f"{name}: its script cannot be played: {error.problems[0].message}") from error
    except NOT_WRITABLE as error:
        raise Malformed(f"{name}: its script cannot be played: {error}") from error
