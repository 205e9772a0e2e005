"""`faultline report DIR` of a campaign: (re)write its report.html."""

from pathlib import Path

import msgspec

from emulator.cli.commands.command_errors import reports_errors
from emulator.exit_codes import HELD
from emulator.judging.campaigns.dataset import UnusableCampaign
from emulator.judging.campaigns.report import write_report


@reports_errors("report", UnusableCampaign)
def campaign_report_command(directory: Path, json: bool = False) -> int:
    """Write the report. `json`: prints `campaign` and `report`, the report's path."""
    path = write_report(directory)
    print(msgspec.json.encode({"campaign": str(directory), "report": str(path)}).decode() if json else path)
    return HELD
