"""The command that plays a written scenario again, with the settings of its choice."""

import shlex
from pathlib import Path

from emulator.judging.advice.advice_runs import Choice
from emulator.regular_files import write_whole


def written_replay(path: Path, text: str, choice: Choice) -> str:
    """The command that replays the scenario that this writes, without the seed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())
    words = ["faultline", "run", str(path), "--world", "sim", "--kafka-version", choice.kafka_version]
    words += [word for override in choice.overrides for word in ("--set", override)]
    words += [word for file in choice.files for word in ("--settings", file)]
    return shlex.join(words)
