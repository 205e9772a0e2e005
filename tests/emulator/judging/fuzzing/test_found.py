"""Kafka's own errors that fuzzing found unaided, as the files of its finds.
Source: docs/fuzzing.md. Each plays again to the same broken promise in the version that has the error, and in none
that has mended it.
"""

import re
from pathlib import Path

import pytest

from emulator.judging.fuzzing.execute import NO_RULE, Broken, tried
from emulator.judging.fuzzing.finding_files import read

pytestmark = pytest.mark.slow

FOUND = Path(__file__).parent / "found"
STEPS_MAX = 12
MENDED = {
    "kafka-10706": "2.6",
    "kafka-1367": "0.10.2",
    "kafka-14140": "",
    "kafka-2729": "2.8",
    "kafka-3143": "2.3",
    "kafka-3410": "2.0.1",
    "kafka-6082": "2.1",
    "kafka-6361": "2.0.0",
    "kafka-6880": "2.1",
    "kafka-7235": "2.2",
    "kafka-9254": "2.4",
    "kip-101": "0.11",
    "kip-903": "",
    "kip-966": "",
}
"""{error: the first version of the ladder without it}; "": every version has it."""
SEED = re.compile(r"^# Seed (\d+)\.$", re.MULTILINE)
KAFKA = re.compile(r'^kafka: \["(.+)"\]$', re.MULTILINE)


def promises_broken(text: str) -> tuple[Broken, ...]:
    scenario, seed = read(text, "found"), SEED.search(text)
    assert scenario is not None and seed is not None
    trial = tried(scenario, int(seed[1]))
    assert not trial.bug and not trial.error
    return trial.broken


def rules_broken(text: str) -> set[str]:
    return {one.rule for one in promises_broken(text)}


def test_every_file_is_looked_at() -> None:
    assert {path.stem for path in FOUND.glob("*.yaml")} == MENDED.keys()


@pytest.mark.parametrize("error", MENDED)
def test_a_known_error_is_there_where_a_version_has_it_and_nowhere_else(error: str) -> None:
    text = (FOUND / f"{error}.yaml").read_text()
    scenario = read(text, error)
    assert scenario is not None and len(scenario.steps) <= STEPS_MAX
    named = f"({error.upper()})"
    found = [one for one in promises_broken(text) if named in one.rule]
    assert f"# {found[0].text}" == text.splitlines()[0]
    assert scenario.title == found[0].cause
    if MENDED[error]:
        mended = KAFKA.sub(f'kafka: ["{MENDED[error]}"]', text)
        assert mended != text
        assert not [rule for rule in rules_broken(mended) if named in rule]


@pytest.mark.parametrize("path", sorted((FOUND.parent / "mistaken").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_finding_without_a_rule_by_mistake_is_explained(path: Path) -> None:
    """And what of ours was mended since: see the commit that brought the file."""
    assert NO_RULE not in rules_broken(path.read_text())
