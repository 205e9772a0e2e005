"""`python -m docs.notebook`: play the notebook and write its outputs anew."""

import sys

from docs.notebook.run_notebook import NOTEBOOK, played, read, written
from emulator.regular_files import write_whole
from emulator.toplevel_errors import ended


def main() -> int:
    write_whole(NOTEBOOK, written(played(read())))
    print(f"wrote {NOTEBOOK.name}")
    return 0


if __name__ == "__main__":
    sys.exit(ended("docs.notebook", main))
