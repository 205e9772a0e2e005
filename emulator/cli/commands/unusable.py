"""Exceptions for unusable arguments and files: one line each, and exit code 2.

`emulator.toplevel_errors` treats all other exceptions.
"""

from typing import Final

from emulator.cli.commands.place_arguments import UnusablePlace
from emulator.cli.on_spark import SparkMissing
from emulator.judging.campaigns.dataset import UnusableCampaign
from emulator.judging.campaigns.space import UnusableSpace
from emulator.runs.deployment_options import UnusableOption
from emulator.runs.directory import ForeignDirectory, NotEmpty
from emulator.runs.scenario_sources import NoScenario
from emulator.scenario.load import ScenarioErrors
from emulator.scenario.observations.recording_parsing import Malformed
from emulator.scenario.parameters import UnusableParameter
from emulator.settings.properties_files import UnusableFile
from emulator.settings.setting_registry import UnusableSetting
from protocol.versions import UnknownVersion, UnusableProtocolVersion

UNUSABLE_SCENARIO: Final = (
    NoScenario,
    ScenarioErrors,
    Malformed,
    UnusableParameter,
    UnusableSetting,
    UnusableFile,
    UnknownVersion,
    UnusableProtocolVersion,
)
"""Exceptions of reading and resolving a scenario."""
UNUSABLE_CAMPAIGN: Final = (
    *UNUSABLE_SCENARIO,
    UnusableSpace,
    UnusableCampaign,
    NotEmpty,
    ForeignDirectory,
    UnusablePlace,
    SparkMissing,
)
"""Further exceptions of requesting and writing a campaign."""
UNUSABLE_RUN: Final = (*UNUSABLE_SCENARIO, UnusableOption, NotEmpty, ForeignDirectory, UnusablePlace, SparkMissing)
