"""Writes the reports that CI systems read: `--junit FILE`, `--markdown FILE`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from emulator.judging.junit import junit_xml
from emulator.judging.markdown_summary import markdown, markdown_of_a_run_not_played, markdown_of_seeds
from emulator.judging.test_cases import Suite, suite_of_a_run_not_played, suite_of_seeds, suites_of
from emulator.regular_files import write_whole


class CiReports(msgspec.Struct, frozen=True):
    """Files of the reports; None: not requested. Writing raises OSError with the file's name."""

    junit: Path | None = None
    markdown: Path | None = None

    @property
    def options(self) -> list[str]:
        """Options that were given."""
        return [option for option, path in self.places.items() if path is not None]

    @property
    def places(self) -> dict[str, Path | None]:
        """{option: its file or None}."""
        return {"--junit": self.junit, "--markdown": self.markdown}

    def write(self, verdicts: Sequence[Mapping[str, Any]]) -> None:
        """Write reports of finished runs. `verdicts`: as in verdict.json."""
        self._write(suites_of(verdicts), markdown(verdicts))

    def write_not_played(self, scenario: str, why: str) -> None:
        """Write reports of a run without a verdict."""
        self._write([suite_of_a_run_not_played(scenario, why)], markdown_of_a_run_not_played(scenario, why))

    def write_seeds(self, summary: Mapping[str, Any], codes: Mapping[int, int]) -> None:
        """Write reports of many seeds. `summary`: of `sim --json`; `codes`: {seed: its exit code}."""
        why = {failure["seed"]: f"{failure['why']}\n{failure['replay']}" for failure in summary["failures"]}
        suite = suite_of_seeds(summary["scenario"], codes, why, summary["wall_s"])
        self._write([suite], markdown_of_seeds(summary))

    def write_suite(self, suite: Suite, text: str) -> None:
        """Write reports whose contents the caller has. `text`: Markdown."""
        self._write([suite], text)

    def _write(self, suites: Sequence[Suite], text: str) -> None:
        if self.junit is not None:
            write_whole(self.junit, junit_xml(suites))
        if self.markdown is not None:
            write_whole(self.markdown, text.encode("utf-8"))


NO_REPORTS = CiReports()
