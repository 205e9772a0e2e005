"""`faultline audit --follow [RUN]`: Java, Spark and the exit code around `follow`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from audit.commands import spark_of
from audit.following.follow_stream import Follow
from audit.following.live_audit_output import Telling
from audit.following.stream import STREAM_SETTINGS, streaming
from audit.input import AuditInputError, find_run
from audit.java import NoJavaError
from audit.spark_java import SparkNotStarted
from audit.spark_session import SparkFailed
from emulator.exit_codes import UNKNOWN, UNUSABLE
from emulator.run_layout import shown


def follow_command(run: Path, lives: Callable[[], bool], *, master: str, json: bool) -> int:
    """Follow `run` until no process writes it. `lives`: whether a process writes it."""
    try:
        directory = find_run(run)
        telling = Telling(directory.path, _write, _warn, json=json)
        with (
            spark_of(master, directory.size_bytes, STREAM_SETTINGS) as (spark, place),
            streaming(spark, directory, place) as stream,
        ):
            stream.warm_up()
            alive = lives()
            words = f"following {directory.name}" if alive else f"{directory.name} does not run: read to its end"
            telling.begin(
                {"run": directory.name, "directory": str(directory.path), "runs": alive},
                f"{words} ({shown(directory.path)}); findings are provisional",
            )
            try:
                return Follow(directory, stream, telling).until_over(lives)
            finally:
                telling.close()
    except SparkFailed as error:
        _warn(str(error))
        return UNKNOWN
    except (AuditInputError, SparkNotStarted, NoJavaError) as error:
        _warn(str(error))
        return UNUSABLE


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _warn(text: str) -> None:
    print(f"faultline audit: {text}", file=sys.stderr)
