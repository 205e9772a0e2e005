"""`faultline up`: start a long-running cluster."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from emulator.cli.command_options import UP, UpOptions
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.control_calls import console
from emulator.cli.commands.live_page import check_story, page_address, show_page, shows_page, story_scenario
from emulator.cli.commands.place_arguments import check_places
from emulator.cli.commands.unusable import UNUSABLE_RUN
from emulator.cli.commands.verdict_text import print_account
from emulator.cluster.cluster_registry import CLUSTER_FILE, LOG_FILE, NoCluster, named
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Ready
from emulator.cluster.launch import READY_LIMIT_S_MAX, READY_LOOK_S, NotUp, launch
from emulator.cluster.page.story_steps import story_of
from emulator.cluster.specification import (
    DEFAULT_TOPOLOGY,
    LIVE_FILE,
    LiveSpec,
    no_listener,
    of_clients,
    resolved,
    write_specification,
)
from emulator.exit_codes import HELD, INTERRUPTED, UNKNOWN, UNUSABLE
from emulator.run_layout import DATA_FOLDER, EVENTS_FOLDER, SETTINGS_FILE, event_paths, shown
from emulator.runs.deployment_options import UnusableOption, check_seed, check_speed
from emulator.runs.directory import fresh, prepare
from emulator.runs.engine_choice import UNUSABLE_MACHINES, require_machines
from emulator.runs.metadata_mode import mode_of_files
from emulator.runs.settings_files import read_settings_files
from emulator.screen import Screen
from emulator.settings.account import Account
from emulator.settings.setting_registry import parse_assignment
from emulator.topology import KRAFT
from emulator.worlds.cluster_file.cluster_model import ClusterFile
from emulator.worlds.cluster_file.compose_files import (
    NoClusterFile,
    named_topology,
    read_cluster_file,
    topology_in_mode,
)
from emulator.worlds.network.spec import LOOPBACK
from protocol.events import LEVELS
from protocol.gates import gates_for
from protocol.versions import ladder_name

PORT_MAX = 65_535


UNUSABLE_INPUT = (*UNUSABLE_RUN, NoCluster, NoClusterFile, *UNUSABLE_MACHINES)


@reports_errors("up", *UNUSABLE_INPUT)
def up_command(topology: str = DEFAULT_TOPOLOGY, /, *, options: UpOptions = UP) -> int:
    """Start a cluster; returns 0 when it is ready, 3 when it is late (no process is left then).

    Parameters
    ----------
    topology
        A topology's name, such as three-az, or a compose file.
    """
    began = time.monotonic()
    directory: Path | None = None
    try:
        directory, account = prepared(options, topology)
        print_account(Screen(stderr=True, highlight=False, soft_wrap=True), account)
        with _progress(options, topology) as show:
            found = launch(directory, options.wait, show)
            ready = ask(found.registration, Ready(), READY_LOOK_S) if options.kafka else None
    except NotUp as error:
        if directory is not None:
            remove_unused(directory)
        raise CommandFailed(error, UNKNOWN if error.late else UNUSABLE) from error
    except KeyboardInterrupt:
        raise CommandFailed("interrupted; no process is left running", INTERRUPTED) from None
    document = {
        "name": found.name,
        "run": str(found.directory),
        "pid": found.registration.pid,
        "ready_s": round(time.monotonic() - began, 3),
        "http": found.registration.http,
        "settings": account,
    }
    if shows_page(options):
        document["page"] = page_address(found.registration)
    bootstrap = ready.result.get("bootstrap", {}) if ready is not None else {}
    if bootstrap:
        document["bootstrap"] = bootstrap
    if options.json:
        print(msgspec.json.encode(document).decode())
    else:
        where = shown(found.directory)
        console().print(f"{found.name} is up after {document['ready_s']:.1f} s; its events are in {where}")
        if options.http is not None:
            console().print(f"HTTP, with the token of {shown(found.directory / CLUSTER_FILE)}: {document['http']}")
        print_bootstrap(bootstrap)
    if shows_page(options):
        show_page("up", found.registration, opens=options.open, prints=not options.json)
    return HELD


def print_bootstrap(bootstrap: dict[str, str]) -> None:
    """Print the bootstrap servers of a Kafka client, one line for each AZ."""
    for az, servers in bootstrap.items():
        console().print(f"bootstrap.servers {'in ' + az if az else 'outside every AZ'}: {servers}")


def remove_unused(directory: Path) -> None:
    """Remove a run's directory without events.

    A directory with a traceback in its log stays, and so does one with a process for `down` to find.
    """
    log = directory / LOG_FILE
    if (directory / CLUSTER_FILE).exists() or (log.exists() and b"Traceback" in log.read_bytes()):
        return
    events, data = directory / EVENTS_FOLDER, directory / DATA_FOLDER
    if event_paths(events):
        return
    for name in (LIVE_FILE, SETTINGS_FILE, LOG_FILE):
        (directory / name).unlink(missing_ok=True)
    for folder in (*events.glob("*"), events, *data.glob("*"), data, directory):
        with suppress(OSError):  # what is not ours stays
            folder.rmdir()


def prepared(options: UpOptions, topology: str = DEFAULT_TOPOLOGY) -> tuple[Path, Account]:
    """The run's directory with the supervisor's input; notes on settings. Raises UNUSABLE_INPUT."""
    if not 0 <= options.wait <= READY_LIMIT_S_MAX:
        raise UnusableOption(f"--wait {options.wait:g}: from 0 to {READY_LIMIT_S_MAX:g} seconds")
    version, files = options.settings.kafka_version, read_settings_files(options.settings.files)
    story = story_scenario(options, files)
    mode = options.metadata or mode_of_files(files, version)
    if story is not None:
        version, mode = version or story.default_version, story.topology.metadata
    file = named_topology(topology_in_mode(topology, version, mode, options.controllers or ""))
    given = with_first_voters(read_cluster_file(file), options.initial_controllers, version)
    name = given.name if options.name is None else options.name
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise UnusableOption(f"--name {name!r}: not a name; use letters, digits, '-', '_' and '.'")
    speed = given.speed if options.speed is None else options.speed
    check_speed(speed, options.driver)
    if options.kafka:
        check_kafka(options, speed, options.settings.kafka_version or given.kafka_version)
    check_seed(options.seed)
    check_port(options.http or 0)
    for one in named(name):
        if one.running:
            raise NoCluster(f"cluster {name}: already runs ({one.directory}); stop it, or give another --name")
    check_places({}, options.out)
    overrides = dict(parse_assignment(text) for text in options.settings.overrides)
    if story is not None:
        check_story(story, given.topology)
        overrides = {**story.settings, **story.settings_by_version.get(ladder_name(version or ""), {}), **overrides}
    about = resolved(given, version, overrides, files)
    spec = LiveSpec(
        name,
        about.spec,
        about.record_magic,
        speed=speed,
        seed=options.seed,
        levels=LEVELS if options.wire else ("client", "replica"),
        engine=options.engine,
        driver=options.driver,
        compose_file=str(file),
        kafka=options.kafka,
        control_port=options.http or 0,
        page=shows_page(options),
        story=[] if story is None else story_of(story),
        **of_clients(about),
    )
    require_machines(options.engine, options.driver, compose_file=file, topology=given.topology)
    directory = options.out or fresh(name)
    prepare(directory)
    directory = directory.resolve()
    write_specification(directory, spec, about)
    return directory, about.account


def with_first_voters(given: ClusterFile, first: int | None, version: str | None) -> ClusterFile:
    """The cluster with its first controllers as voters that may change.

    Raises UnusableOption, UnknownVersion.
    """
    if first is None:
        return given
    word, release = f"--initial-controllers {first}", ladder_name(version or given.kafka_version)
    if given.topology.metadata != KRAFT:
        raise UnusableOption(f"{word}: of KRaft alone; give --metadata kraft, or leave it out")
    if gates_for(release, metadata=KRAFT).kraft_version_max < 1:
        raise UnusableOption(f"{word}: voters change from Kafka 3.9 on (KIP-853), not in {release}; leave it out")
    names = list(given.topology.voters.values())
    if not 1 <= first <= len(names):
        raise UnusableOption(f"{word}: there are {len(names)} controllers; give 1 to {len(names)}")
    topology = msgspec.structs.replace(given.topology, initial_controllers=tuple(names[:first]))
    return msgspec.structs.replace(given, topology=topology)


def check_port(port: int) -> None:
    """Check that the port is free, before anything starts. Raises UnusableOption."""
    if not 0 <= port <= PORT_MAX:
        raise UnusableOption(f"--http {port}: not a port; give 1 to {PORT_MAX}, or 0 for a free one")
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError as error:
        raise UnusableOption(f"--http {port}: {os.strerror(error.errno or 0)}; 0 takes a free port") from error


def check_kafka(options: UpOptions, speed: float, version: str) -> None:
    """Check that a Kafka listener is possible. Raises UnusableOption."""
    if options.driver != "nodes":
        raise UnusableOption(f"--kafka: not possible with --driver {options.driver}; give --driver nodes")
    if why := no_listener(speed, version):
        raise UnusableOption(f"--kafka: {why}")


@contextmanager
def _progress(options: UpOptions, topology: str) -> Iterator[Any]:
    """A progress line on a terminal; no output in a pipe."""
    screen = Screen(stderr=True, highlight=False)
    if options.json or not screen.is_terminal:
        yield None
        return
    with screen.status(f"starting {options.name or topology}") as status:
        yield lambda lacking: status.update(f"[dim]{lacking}[/]")
