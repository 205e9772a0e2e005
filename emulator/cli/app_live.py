"""The words of a cluster that stays: up, down, status, faults on links. What they do is in `emulator.cli.commands`.

Every command takes `--cluster NAME` where several run, and answers within 2 s unless it is told to wait longer.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Group, Parameter

from emulator.cli.asked import ASKED, Asked, Json
from emulator.runs.living import Driver, Engine
from protocol.link_rules import LinkFaultKind

Setting = Annotated[list[str] | None, Parameter(name="--set", negative=())]
Files = Annotated[list[str] | None, Parameter(name="--settings", negative=())]
Words = Annotated[str, Parameter(allow_leading_hyphen=True)]

LIVE = Group.create_ordered("A cluster that stays")
app = App(name="live")


def add_to(main: App) -> None:
    """Mounts every command here beside those of `main`."""
    for name in _COMMANDS:
        app[name].group = LIVE
        main.command(app[name], name=name)


# --- the cluster ----------------------------------------------------------------------------------------------------


@app.command
def up(
    topology: str = "three-az",
    /,
    *,
    engine: Engine = "process",
    driver: Driver = "nodes",
    name: str | None = None,
    kafka_version: str | None = None,
    set_: Setting = None,
    settings: Files = None,
    speed: float | None = None,
    seed: int = 1,
    out: Path | None = None,
    wire: bool = False,
    wait: float = 60.0,
    kafka: bool = False,
    http: int | None = None,
    json: Json = False,
) -> int:
    """Start a cluster that stays until `down`.

    Parameters
    ----------
    topology
        A topology's name, such as three-az, or a compose file.
    engine
        How nodes run: local processes, or containers.
    driver
        Who cuts links: the nodes themselves, or the kernel's packet filter (cut and heal only, speed 1, as root).
    name
        What the cluster is called; by default as its topology.
    kafka_version
        The brokers' version, such as 2.6 or 0.10.2.
    set_
        Any Kafka setting, `key=value`; repeatable.
    settings
        A .properties file: server.properties, producer:my.properties, broker-0:server-0.properties; repeatable.
    speed
        Factor of the clock; 1 unless the topology says otherwise.
    seed
        Varies what is left to chance.
    out
        The run's directory; by default runs/NAME-TIME.
    wire
        Write an event for every frame, too.
    wait
        Seconds until the cluster must be ready.
    kafka
        Brokers also listen for Kafka clients, any of them; says where, for each AZ.
    http
        The port of 127.0.0.1 that commands and HTTP are answered on (docs/http.md), 0 for a free one; says where.
    """
    from emulator.cli.commands.live_up import UpOptions, up_command

    return up_command(
        UpOptions(
            topology, engine, driver, name, kafka_version, tuple(set_ or ()), tuple(settings or ()), speed, seed, out,
            wire, wait, json, kafka, http,
        )
    )  # fmt: skip


@app.command
def attach(topology: str = "three-az", /, *, project: str | None = None, json: Json = False) -> int:
    """Make the cluster of a plain `docker compose up` known to the other commands.

    Parameters
    ----------
    topology
        Of which the containers were made: a topology's name, or a compose file.
    project
        The compose tool's name for them, if it was given one.
    """
    from emulator.cli.commands.live_attach import attach_command

    return attach_command(topology, project, json)


@app.command
def down(*, all_: Annotated[bool, Parameter(name="--all", negative=())] = False, asked: Asked = ASKED) -> int:
    """End a cluster, and clean up after killed ones.

    Parameters
    ----------
    all_
        Every cluster below runs/.
    """
    from emulator.cli.commands.live_down import down_command

    return down_command(asked.cluster, all_, asked.json)


@app.command
def status(*, watch: bool = False, asked: Asked = ASKED) -> int:
    """What every node itself thinks: who leads, who controls, how far each log is; and the faults in force.

    Parameters
    ----------
    watch
        Look again every half second, until Ctrl-C or q; keys there cut, heal, kill, pause, resume, start and filter.
    """
    from emulator.cli.commands.live_status import live_status_command

    return live_status_command(asked.cluster, watch, asked.json)


# --- faults on links ------------------------------------------------------------------------------------------------


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Part:
    """What of the links is meant; by default all."""

    only: Annotated[str | None, Parameter(help="Only frames of these APIs: Fetch,Produce.")] = None
    purposes: Annotated[str | None, Parameter(help="Only connections of these purposes.")] = None
    client_id: Annotated[str | None, Parameter(help="Only connections of Kafka clients called so.")] = None


ALL: Final = Part()


def _link_fault(kind: str, words: tuple[str, ...], part: Part, asked: Asked) -> int:
    from emulator.cli.commands.live_faults import link_fault_command

    return link_fault_command(asked.asking(kind), words, part.only, part.purposes, part.client_id)


@app.command
def cut(*places: Words, part: Part = ALL, asked: Asked = ASKED) -> int:
    """Packets between two places vanish; nothing is reset.

    Parameters
    ----------
    places
        az-0, leader:TOPIC-N, active-controller, A B, A '->' B (one way), or opened_by A to B.
    """
    return _link_fault("cut", places, part, asked)


@app.command
def hold(*places: Words, part: Part = ALL, asked: Asked = ASKED) -> int:
    """Frames between two places wait, in order, until `release`.

    Parameters
    ----------
    places
        As for cut.
    """
    return _link_fault("hold", places, part, asked)


@app.command
def delay(*places: Words, part: Part = ALL, asked: Asked = ASKED) -> int:
    """Frames take longer.

    Parameters
    ----------
    places
        As for cut, then milliseconds, then jitter if any: az-0 50ms 10ms.
    """
    return _link_fault("delay", places, part, asked)


@app.command
def loss(*places: Words, part: Part = ALL, asked: Asked = ASKED) -> int:
    """A share of the packets is lost, which TCP turns into delay.

    Parameters
    ----------
    places
        As for cut, then the share: az-0 5%.
    """
    return _link_fault("loss", places, part, asked)


@app.command
def bandwidth(*places: Words, part: Part = ALL, asked: Asked = ASKED) -> int:
    """What a node sends over a link has so many bytes a second, all its connections together.

    Parameters
    ----------
    places
        As for cut, then the bytes: az-0 10kB.
    """
    return _link_fault("bandwidth", places, part, asked)


@app.command
def heal(*places: Words, kind: LinkFaultKind | None = None, asked: Asked = ASKED) -> int:
    """Lift the faults that name all of these places; without any, every fault.

    Parameters
    ----------
    places
        az-0, A B, or a rule such as rule-2.
    kind
        Only faults of that kind: a cut is healed, and the delay on the same links stays.
    """
    from emulator.cli.commands.live_faults import heal_command

    return heal_command(asked.asking("heal"), places, kind or "")


@app.command
def release(*places: Words, asked: Asked = ASKED) -> int:
    """Let go what `hold` keeps.

    Parameters
    ----------
    places
        As for heal.
    """
    from emulator.cli.commands.live_faults import heal_command

    return heal_command(asked.asking("release"), places, "hold")


_COMMANDS = ("up", "attach", "down", "status", "cut", "heal", "delay", "loss", "bandwidth", "hold", "release")
