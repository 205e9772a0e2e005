"""`faultline report DIR` of a campaign: (re)write its report.html."""

import sys
from pathlib import Path

import msgspec

from emulator.exit_codes import HELD, UNUSABLE
from emulator.judging.campaigns.dataset import UnusableCampaign
from emulator.judging.campaigns.report import write_report


def campaign_report_command(directory: Path, json: bool = False) -> int:
    """Write the report. `json`: prints `campaign` and `report`, the report's path."""
    try:
        path = write_report(directory)
    except UnusableCampaign as error:
        print(f"faultline report: {error}", file=sys.stderr)
        return UNUSABLE
    print(msgspec.json.encode({"campaign": str(directory), "report": str(path)}).decode() if json else path)
    return HELD
