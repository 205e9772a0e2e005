"""Plays faults and seeds with the user's settings, on all cores.

A worker turns numbers of runs into outcomes. The number of a run is (choice of settings, fault, seed), the first
slowest.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from emulator.exit_codes import BUG
from emulator.judging.advice.advice_cluster import THREE_AZS, Cluster, common_settings
from emulator.judging.advice.advice_workload import scenario_text
from emulator.judging.advice.outcomes import Outcome, outcome_of
from emulator.judging.advice.settings_sense_check import FACTOR, check_sense
from emulator.judging.advice.single_faults import Fault, single_faults
from emulator.judging.judged import NotJudged, judge_seed
from emulator.runs.cores import Processes, collect, on_all_cores
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.run_limits import session_timeout_ms
from emulator.runs.run_settings import BY_SCENARIO, given_for
from emulator.runs.settings_files import read_settings_files
from emulator.runs.simulated import collector_disabled
from emulator.scenario.load import load_scenario
from emulator.settings.accounting import Everything
from emulator.settings.setting_registry import parse_assignment
from emulator.topology import broker_name
from protocol.versions import in_force

RESOLVED_MAX: Final = 64
BUGS_MAX: Final = 10
IDEMPOTENT: Final = "producer.enable.idempotence=true"
REQUEST_TIMEOUT_MS: Final = 30_000.0
DEFAULT_ACKS: Final = (("0.8.2", "1"), ("3.0", "all"))
"""Default of Kafka's producers (KIP-679)."""


class Choice(msgspec.Struct, frozen=True):
    """Settings as words of the command line: `overrides` take precedence over `files`."""

    kafka_version: str
    overrides: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Names that `overrides` set."""
        return frozenset(override.partition("=")[0].strip() for override in self.overrides)


class AdviceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the runs.

    `left_open`: settings without a value, which each scenario needs. `runs`: (choice, fault, seed), by index.
    """

    cluster: Cluster
    choices: tuple[Choice, ...]
    faults: tuple[Fault, ...]
    replicas: tuple[int, ...]
    left_open: dict[str, Any]
    runs: tuple[tuple[int, int, int], ...]


class Base(msgspec.Struct, frozen=True):
    """Facts known before any run.

    `settings`: explicit settings in force, also those that each broker has in its own file. `by_broker`: additional
    settings of single brokers. `sources`: source of each setting by name (`broker-0: NAME` of one broker alone).
    `every`: whether `faults` are all that exist.
    """

    cluster: Cluster
    version: str
    replicas: int
    settings: dict[str, Any]
    left_open: dict[str, Any]
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]
    sources: dict[str, str] = {}
    by_broker: dict[int, dict[str, Any]] = {}
    every: bool = True

    @property
    def own(self) -> dict[str, Any]:
        """`by_broker` in one mapping, by names as in `sources`."""
        return {
            f"{broker_name(broker)}: {name}": value
            for broker, values in self.by_broker.items()
            for name, value in values.items()
        }

    @property
    def of_each(self) -> list[dict[str, Any]]:
        """Settings of each broker, including those of `left_open`."""
        common = {**self.left_open, **self.settings}
        return [{**common, **self.by_broker.get(broker, {})} for broker in self.cluster.brokers]


def base_of(choice: Choice, version: str | None, cluster: Cluster = THREE_AZS) -> Base:
    """The facts of a choice.

    Raises the errors of reading and resolving settings: file, line, rule.
    """
    fault = single_faults(0.0, REQUEST_TIMEOUT_MS, cluster)[0]
    files = read_settings_files(choice.files)
    for_all = (entry.name for file in files if file.broker is None for entry in file.entries)
    cluster = cluster.without(choice.names.union(for_all))
    common = len(cluster.holders())
    text = scenario_text(fault, cluster.version, common, {}, cluster)
    scenario, overrides = load_scenario(text, "advice.yaml"), dict(map(parse_assignment, choice.overrides))
    resolved = resolve(scenario, version, overrides, files)
    given = given_for(scenario, resolved.spec.kafka_version, overrides, (), files)
    check_sense(given.everything, len(cluster.brokers), common)
    own = resolved.scenario.settings_by_broker
    common_to_all, by_broker = common_settings({broker: own.get(broker, {}) for broker in cluster.brokers})
    settings = resolved.scenario.settings | common_to_all
    replicas = int(settings.get(FACTOR, common))
    cluster = msgspec.structs.replace(cluster, holding=max(common, replicas))
    safe = "producer.transactional.id" in settings or settings.get("producer.enable.idempotence") is True
    open_acks = "producer.acks" not in settings and not safe
    timeout_ms = float(settings.get("producer.request.timeout.ms", REQUEST_TIMEOUT_MS))
    left_open = {"producer.acks": in_force(resolved.spec.kafka_version, DEFAULT_ACKS)} if open_acks else {}
    if "producer.transactional.id" in settings and "producer.acks" not in settings:
        left_open = {"producer.acks": "all"}  # transactions imply idempotence, which the machine does not model
    warnings = (*resolved.account.warnings, *_differing(by_broker, replicas))
    session_ms = max(session_timeout_ms(resolved.spec, node) for node in resolved.spec.settings)
    faults = single_faults(float(session_ms), timeout_ms, cluster)
    version, sources = resolved.spec.kafka_version, _sources(given.everything, settings, cluster)
    return Base(cluster, version, replicas, settings, left_open, faults, warnings, sources, by_broker)


def _differing(by_broker: Mapping[int, Mapping[str, Any]], replicas: int) -> Iterator[str]:
    """A warning if brokers differ: any of them may handle the request that creates the topic."""
    factors = ", ".join(f"{broker_name(broker)}: {own[FACTOR]}" for broker, own in by_broker.items() if FACTOR in own)
    if factors:
        yield f"brokers differ in {FACTOR} ({factors}): the topic has {replicas} replicas"


def _sources(everything: Everything, settings: Mapping[str, Any], cluster: Cluster) -> dict[str, str]:
    """{setting in force: its source}, including settings of single brokers."""
    places = {key: one.where for key, one in everything.cluster.items()}
    own: dict[str, str] = {}
    files: dict[str, dict[str, None]] = {}
    for broker, values in everything.by_broker.items():
        for key, one in values.items():
            own[f"{broker_name(broker)}: {key}"] = one.where if one.noted else ""
            if one.noted:
                files.setdefault(key, {})[one.where] = None
    # A broker's own file is a source only where no other source sets it: that of all brokers.
    places |= {key: ", ".join(found) for key, found in files.items() if len(found) == len(cluster.brokers)}
    by_cluster = cluster.sources
    named = {name: where for name in settings if (where := places.get(name, "")) not in ("", BY_SCENARIO)}
    return (
        {name: by_cluster.get(name, cluster.of or "the topology") for name in settings}
        | named
        | {key: where or by_cluster.get(key, "the topology") for key, where in own.items()}
    )


class AdviceWorker:
    """Plays runs by their index in `AdviceOptions.runs`. One per process."""

    def __init__(self, options: AdviceOptions) -> None:
        self._options = options
        self._files = {choice.files: read_settings_files(choice.files) for choice in options.choices}
        self._resolved = lru_cache(RESOLVED_MAX)(self._resolve)

    def play(self, seed: int) -> tuple[int, Outcome]:
        """(the choice, the outcome) of a run. `seed`: the run's index."""
        choice, place, chance = self._options.runs[seed]
        fault = self._options.faults[place].name
        with collector_disabled():
            run = judge_seed(lambda: self._resolved(choice, place), chance)
            if isinstance(run, NotJudged):
                bug = run.why if run.code == BUG else ""
                return choice, Outcome(fault=fault, seed=chance, inconclusive=run.why, bug=bug)
            return choice, outcome_of(fault, chance, run, self._resolved(choice, place))

    def _resolve(self, choice: int, place: int) -> Resolved:
        settings = self._options.choices[choice]
        scenario = load_scenario(text_of(self._options, choice, place), "advice.yaml")
        overrides = dict(map(parse_assignment, settings.overrides))
        return resolve(scenario, settings.kafka_version, overrides, self._files[settings.files])


def text_of(options: AdviceOptions, choice: int, place: int) -> str:
    """The text of a run's scenario; explicit idempotence implies its acks."""
    settings = options.choices[choice]
    left_open = {} if IDEMPOTENT in settings.overrides else options.left_open
    replicas = options.replicas[choice]
    cluster = options.cluster.without(settings.names)
    return scenario_text(options.faults[place], settings.kafka_version, replicas, left_open, cluster)


class Bug(msgspec.Struct, frozen=True):
    """A run that met a bug of this program. `text`: its scenario."""

    fault: str
    seed: int
    error: str
    choice: Choice
    text: str


class FaultPlayer:
    """Plays faults on `processes`. `bugs`: of all runs so far, the first ones."""

    def __init__(self, processes: Processes = None) -> None:
        self.bugs: list[Bug] = []
        self._processes = processes

    def play(
        self,
        options: AdviceOptions,
        add: Callable[[int, Outcome], object],
        ended: Callable[[], bool | None] = lambda: True,
    ) -> None:
        """Add each run's choice and outcome, in the order of completion.

        `ended`: as of `collect`.
        """

        def keep(played: tuple[int, Outcome]) -> None:
            choice, outcome = played
            if outcome.bug and len(self.bugs) < BUGS_MAX:
                place = next(at for at, fault in enumerate(options.faults) if fault.name == outcome.fault)
                text = text_of(options, choice, place)
                self.bugs.append(Bug(outcome.fault, outcome.seed, outcome.bug, options.choices[choice], text))
            add(choice, outcome)

        collect(on_all_cores(AdviceWorker, options, range(len(options.runs)), self._processes), keep, ended)
