"""`python -m docs.generate`: write every generated page.

With `--check`: write nothing, name outdated pages, exit 1.
"""

import sys
from pathlib import Path

from docs.generate.pages import PAGES, outdated
from emulator.toplevel_errors import ended

ROOT = Path(__file__).parents[2]


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(f"usage: python -m docs.generate [--check], not {' '.join(arguments)}", file=sys.stderr)
        return 2
    stale = outdated(ROOT)
    if arguments:
        for name in stale:
            print(f"{name} is out of date: run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    for name, text in stale.items():
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"wrote {name}")
    print(f"{len(PAGES)} pages, {len(stale)} written")
    return 0


if __name__ == "__main__":
    sys.exit(ended("docs.generate", lambda: main(sys.argv[1:])))
