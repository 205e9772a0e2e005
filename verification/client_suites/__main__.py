"""`python -m verification.client_suites`: tests of kafka-python and aiokafka on our brokers.

    python -m verification.client_suites --kafka-python CHECKOUT --aiokafka CHECKOUT [--kafka-version 2.8]
        [--out FOLDER]

A checkout is the client's repository at the tag that constraints.txt pins (of kafka-python, which has no later tag,
3.0.11's: the library that is tested is the pinned one in any case). A suite takes one minute (kafka-python) or ten
(aiokafka) for each version. Their environments are made below `--out`, which is kept, as are the clusters' directories;
without it everything is removed in the end. Needs the package index.

Prints the table and each failure; with both suites and all versions it writes
verification/results/client_suites.json and the table in docs/kafka-clients.md. Exit code 1 if a test fails for which
there is no reason.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import msgspec

from benchmarks.figure_records import Figure, write
from emulator.exit_codes import UNUSABLE
from emulator.toplevel_errors import ended
from verification import RESULTS
from verification.client_suites.client_suites_page import table, write_page
from verification.client_suites.run_suites import NoSuite, Played, environment, play
from verification.client_suites.suites import SUITES


def figures_of(played: list[Played]) -> list[Figure]:
    passed, explained = sum(one.passed for one in played), sum(len(one.failed) - len(one.unexplained) for one in played)
    run = passed + sum(len(one.failed) for one in played)
    return [
        Figure(line=f"of {run} tests of the clients' own suites passed; {explained} need missing features",
               value=passed, unit="", target=run - explained, higher_is_better=True),
        Figure(line="failed without a known cause", value=run - passed - explained, unit="", target=0),
    ]  # fmt: skip


def in_short(played: Played) -> Played:
    """Without tracebacks, which name the folders of a machine."""
    replace = msgspec.structs.replace
    return replace(played, failed=[replace(one, message=one.message.partition("\n")[0]) for one in played.failed])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.client_suites", description=__doc__)
    for suite in SUITES:
        parser.add_argument(f"--{suite.client}", type=Path, metavar="CHECKOUT", dest=suite.client)
    parser.add_argument("--kafka-version", action="append", help="one of those of the suite; may be given again")
    parser.add_argument("--out", type=Path, help="keep environments and runs here")
    options = vars(parser.parse_args(arguments))
    given = [(suite, options[suite.client].resolve()) for suite in SUITES if options[suite.client] is not None]
    if not given:
        parser.error("no checkout: " + " or ".join(f"--{suite.client} CHECKOUT" for suite in SUITES))
    versions = options["kafka_version"]
    known = {version for suite, _ in given for version in suite.kafka}
    if wrong := set(versions or ()) - known:
        parser.error(f"--kafka-version {wrong.pop()}: one of {', '.join(sorted(known))}")
    played: list[Played] = []
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        place = (options["out"] or Path(name)).resolve()
        place.mkdir(parents=True, exist_ok=True)
        try:
            for suite, checkout in given:
                python = environment(suite, place / f"environment-{suite.client}")
                for version in suite.kafka:
                    if not versions or version in versions:
                        run = Path(tempfile.mkdtemp(prefix=f"{suite.client}-{version}-", dir=place))
                        played.append(play(suite, checkout, version, python, run))
        except NoSuite as error:
            print(error, file=sys.stderr)
            return UNUSABLE
    print(table(played), end="")
    for one in played:
        for failure in one.failed:
            print(f"{one.client} on {one.kafka}: {failure.test}: {failure.reason or failure.message}")
    if len(given) == len(SUITES) and not versions:
        runs = msgspec.to_builtins(list(map(in_short, played)))
        write("client_suites", figures_of(played), {"runs": runs}, results=RESULTS)
        write_page(played)
    return 1 if any(one.unexplained for one in played) else 0


if __name__ == "__main__":
    sys.exit(ended("verification.client_suites", lambda: main(sys.argv[1:])))
