"""`python -m docs.language`: lint the language; exit 1 on an offence beyond the baseline.

With `--update`: write the baseline anew, with smaller counts alone. With paths: list every offence below them, known or
not; exit 0.
"""

import sys
from pathlib import Path, PurePath

from docs.language import baseline
from docs.language.language_sources import commit_offences, offences
from emulator.toplevel_errors import ended

ROOT = Path(__file__).parents[2]
BASELINE = Path(__file__).with_name("baseline.json")


def main(arguments: list[str]) -> int:
    update = arguments == ["--update"]
    if not update and any(one.startswith("-") for one in arguments):
        print(f"usage: python -m docs.language [--update | PATH...], not {' '.join(arguments)}", file=sys.stderr)
        return 2
    found = list(offences(ROOT))
    if arguments and not update:
        for path, one in found:
            if any(PurePath(path).is_relative_to(below) for below in arguments):
                print(f"{path}:{one.line}: {one.rule}: {one.text}")
        return 0
    known = baseline.read(BASELINE) if BASELINE.exists() else baseline.counts_of(found)
    more = [*baseline.more_than_known(found, known), *commit_offences(ROOT)]
    for line in more:
        print(line, file=sys.stderr)
    if more:
        return 1
    if update:
        baseline.write(BASELINE, baseline.counts_of(found))
        return 0
    fewer = baseline.fewer_than_known(found, known)
    for line in fewer:
        print(f"{line}; run `python -m docs.language --update`", file=sys.stderr)
    return 1 if fewer else 0


if __name__ == "__main__":
    sys.exit(ended("docs.language", lambda: main(sys.argv[1:])))
