"""docs/scenarios.md names everything that a scenario file may say, except checks."""

from pathlib import Path

import pytest

from emulator.faults.link_rule_building import PURPOSE_NAMES
from emulator.scenario.expectations import SUBJECTS
from emulator.scenario.load import KEYS
from emulator.scenario.verbs import VERBS
from emulator.scenario.waits import KEYS as CONDITION_KEYS
from emulator.scenario.waits import WORDS

TEXT = (Path(__file__).parents[3] / "docs" / "scenarios.md").read_text()


@pytest.mark.parametrize("word", sorted({*KEYS, *VERBS, *SUBJECTS, *PURPOSE_NAMES, *WORDS, *CONDITION_KEYS}))
def test_word_is_documented(word: str) -> None:
    assert f"`{word}" in TEXT


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_keys_of_a_verb_are_documented(verb: str) -> None:
    assert [key for key in VERBS[verb].keys if key not in TEXT] == []


@pytest.mark.parametrize("subject", sorted(SUBJECTS))
def test_keys_of_a_subject_are_documented(subject: str) -> None:
    (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{subject}` |")]
    assert [key for key in SUBJECTS[subject] if f"`{key}`" not in row] == []
