"""Locations of the installed Spark and of the class archive made for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from audit.java import Java

# Directories of configuration that Spark's own scripts put on the class path: Hadoop's and YARN's for such
# masters.
CONFIGURATION_VARIABLES = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")


def spark_home() -> Path:
    """The directory of the package pyspark."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.submodule_search_locations, "pyspark is a dependency of faultline"
    return Path(next(iter(spec.submodule_search_locations)))


def spark_jars() -> list[Path]:
    """Spark's jars in a fixed order: a class archive needs the very same class path."""
    return sorted((spark_home() / "jars").glob("*.jar"))


def scala_version() -> str:
    """The Scala line of the installed Spark, such as "2.13"."""
    (core,) = (spark_home() / "jars").glob("spark-core_*.jar")
    return core.name.removeprefix("spark-core_").split("-")[0]


def class_path(environ: Mapping[str, str]) -> str:
    """Spark's jars, then the configuration directories (an archive allows more at the end)."""
    configured = [environ[name] for name in CONFIGURATION_VARIABLES if environ.get(name)]
    return os.pathsep.join([*map(str, spark_jars()), *configured])


def ahead_of_time(java: Java) -> bool:
    """Whether this Java's archive holds loaded and linked classes with lambdas (JEP 483, 514)."""
    return java.major >= 25


def archive_path(java: Java) -> Path:
    """The class archive for this Java, this Spark and this place; another one has another name.

    It lies in the virtual environment when there is one, so that it goes when that goes, else in the user's
    cache.
    """
    if sys.prefix != sys.base_prefix:
        folder = Path(sys.prefix) / "var" / "faultline"
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "faultline"
    home = java.command.resolve().parent.parent
    made_of = [str(home), *(f"{jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in spark_jars())]
    release = home / "release"
    if release.exists():
        made_of.append(release.read_text(encoding="utf-8", errors="replace"))
    kind = "aot" if ahead_of_time(java) else "jsa"
    return folder / f"spark-java{java.major}-{sha256(chr(10).join(made_of).encode()).hexdigest()[:16]}.{kind}"
