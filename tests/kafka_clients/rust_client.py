"""The client in Rust: `python -m tests.kafka_clients.rust_client` compiles it.

That takes a minute of a core and the crates from their registry, so no test of the ordinary suite does it: these run
what was compiled before, and are skipped, and counted, where nothing was. `pytest -m long tests/kafka_clients`
compiles it, too.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).parent / "rust"
TARGET: Final = Path(sys.prefix) / "var" / "rust"
BINARY: Final = TARGET / "debug" / "client"
_STAMP: Final = TARGET / "compiled-from"
NOT_COMPILED: Final = "no compiled client in Rust (python -m tests.kafka_clients.rust_client)"
BUILD_LIMIT_S: Final = 540.0


def is_compiled() -> bool:
    """From the sources as they are."""
    return BINARY.is_file() and _STAMP.is_file() and _STAMP.read_text(encoding="ascii") == _digest()


def compile_it() -> None:
    """Raises CalledProcessError, whose `stderr` is cargo's, and
    FileNotFoundError where there is no cargo."""
    command = ["cargo", "build", "--quiet", "--manifest-path", str(SOURCES / "Cargo.toml")]
    environment = os.environ | {"CARGO_TARGET_DIR": str(TARGET)}
    subprocess.run(command, env=environment, capture_output=True, text=True, timeout=BUILD_LIMIT_S, check=True)
    _STAMP.write_text(_digest(), encoding="ascii")


def _digest() -> str:
    files = (SOURCES / "Cargo.toml", *sorted((SOURCES / "src").glob("*.rs")))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


if __name__ == "__main__":
    try:
        compile_it()
    except FileNotFoundError:
        sys.exit("there is no cargo: https://rustup.rs")
    except subprocess.CalledProcessError as error:
        sys.exit(error.stderr)
    print(BINARY)
