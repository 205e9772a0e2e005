"""Records the inputs of one incarnation, with a running checksum of its effects.

See emulator.worlds.replay.
"""

import os
from pathlib import Path
from typing import Any

from emulator.regular_files import named
from emulator.worlds.network.spec import ShellSettings
from emulator.worlds.replay import effects_crc, record_bytes
from protocol.machine import Effect, Now


class InputRecorder:
    """Writes `inputs/NODE.INCARNATION.msgpack` of the run."""

    def __init__(self, settings: ShellSettings) -> None:
        directory = Path(settings.run_dir) / "inputs"
        directory.mkdir(parents=True, exist_ok=True)
        life = settings.life
        path = directory / f"{life.node.name}.{life.incarnation}.msgpack"
        self._path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._waiting: list[bytes] = []
        self._crc = 0

    def answered(self, now: Now, event: Any, payload: bytes | None, effects: list[Effect]) -> None:
        """Record an input and its effects. `payload`: of the frame, if it was a message."""
        self._crc = effects_crc(effects, self._crc)
        self._waiting.append(record_bytes(now, event, payload, self._crc))

    def raised(self, now: Now, event: Any, payload: bytes | None) -> None:
        """Record the machine's last input, whose step raised."""
        self._waiting.append(record_bytes(now, event, payload, None))

    def flush(self) -> None:
        data = b"".join(self._waiting)
        self._waiting.clear()
        with named(self._path):
            while data:
                data = data[os.write(self._fd, data) :]

    def close(self) -> None:
        self.flush()
        os.close(self._fd)
