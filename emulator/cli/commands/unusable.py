"""Exceptions for unusable arguments and files: one line each, and exit code 2.

`emulator.last_resort` treats all other exceptions.
"""

from typing import Final

from emulator.cli.commands.places import UnusablePlace
from emulator.cli.on_spark import SparkMissing
from emulator.judging.campaigns.dataset import UnusableCampaign
from emulator.judging.campaigns.space import UnusableSpace
from emulator.judging.seeds import UnusableSeeds
from emulator.runs.directory import ForeignDirectory, NotEmpty
from emulator.runs.living import UnusableOption
from emulator.runs.sources import NoScenario
from emulator.scenario.load import ScenarioErrors
from emulator.scenario.observations.reading import Malformed
from emulator.scenario.parameters import UnusableParameter
from emulator.settings.files import UnusableFile
from emulator.settings.registry import UnusableSetting
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
    UnusableSeeds,
    UnusableSpace,
    UnusableCampaign,
    NotEmpty,
    ForeignDirectory,
    UnusablePlace,
    SparkMissing,
)
"""What asking for a campaign and writing it raises besides."""
UNUSABLE_RUN: Final = (*UNUSABLE_SCENARIO, UnusableOption, NotEmpty, ForeignDirectory, UnusablePlace, SparkMissing)
