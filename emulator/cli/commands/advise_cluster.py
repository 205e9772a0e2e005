"""The cluster that `faultline advise` plays, by options, settings files and version."""

from collections.abc import Sequence

from emulator.cli.command_options import AdviseOptions
from emulator.judging.advice.advice_cluster import THREE_AZS, Cluster, of_counts, of_file
from emulator.judging.campaigns.space import UnusableSpace
from emulator.runs.metadata_mode import mode_of_files
from emulator.runs.settings_files import read_settings_files
from emulator.settings.properties_files import SettingsFile, roles_of
from emulator.settings.setting import BROKER
from emulator.topology import KRAFT, ZOOKEEPER, default_metadata, metadata_of
from emulator.worlds.cluster_file.compose_files import topologies, topology_in_mode

AZS = 3
BOTH_ROLES = frozenset({"broker", "controller"})


def requested_cluster(options: AdviseOptions, files: Sequence[SettingsFile]) -> Cluster:
    """The cluster of the options without `--cluster`. `files`: of the command line.

    Raises NoClusterFile, ClusterFileErrors, UnusableSpace, UnknownVersion, NoSuchMode.
    """
    if options.topic is not None:
        raise UnusableSpace("--topic: needs --cluster, which names a running cluster")
    version = options.kafka_version
    mode = options.metadata or mode_of_files(files, version) or (KRAFT if options.controllers else "")
    combined = options.controllers == "combined" or (options.controllers is None and _combined(files))
    if options.topology is not None:
        if options.brokers is not None or options.azs is not None:
            raise UnusableSpace("--topology: contradicts --brokers and --azs; give one of them")
        derived = "combined" if combined and mode == KRAFT and options.topology in topologies() else ""
        return of_file(topology_in_mode(options.topology, version, mode, options.controllers or derived))
    if not mode:
        mode = default_metadata(version) if version is not None else ZOOKEEPER
    if version is not None:
        metadata_of(version, mode)
    if options.controllers is not None and mode != KRAFT:
        word = f"--controllers {options.controllers}"
        raise UnusableSpace(f"{word}: of KRaft alone; give --metadata kraft, or leave it out")
    if mode == ZOOKEEPER and options.brokers is None and options.azs is None:
        return THREE_AZS
    azs = options.azs if options.azs is not None else min(options.brokers or AZS, AZS)
    return of_counts(options.brokers if options.brokers is not None else azs, azs, mode, combined)


def _combined(files: Sequence[SettingsFile]) -> bool:
    """Whether a broker's file has both roles."""
    return any(roles_of({entry.name: entry for entry in file.entries}) == BOTH_ROLES for file in files)


def for_all_brokers(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(words of settings files, notes): the only file of a broker counts for all brokers.

    Raises UnusableFile.
    """
    files = read_settings_files(words)
    of_brokers = [place for place, file in enumerate(files) if file.scope == BROKER and not file.of_controllers]
    if len(of_brokers) != 1 or not files[of_brokers[0]].by_id:
        return words, ()
    place = of_brokers[0]
    note = f"{files[place].name}: is broker-{files[place].broker}'s by its id; here it counts for all brokers"
    return (*words[:place], f"broker:{words[place]}", *words[place + 1 :]), (note,)
