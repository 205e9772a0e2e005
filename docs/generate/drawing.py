"""docs/architecture.svg: one set of machines, two worlds, and the judges. Drawn in numbers."""

from pathlib import Path

from docs.generate import svg

WIDTH, HEIGHT = 1120, 640


def page(root: Path) -> str:
    del root
    shapes = [*_machines(), *_worlds(), *_judges()]
    return svg.picture(WIDTH, HEIGHT, "One set of machines, two worlds, two judges", shapes)


def _machines() -> list[str]:
    return [
        svg.area(20, 16, 1080, 150, "Pure machines: (now, input) -> effects"),
        svg.box(40, 52, 190, 56, ["broker", "log, ISR, high watermark, fetcher"], "pure"),
        svg.box(250, 52, 190, 56, ["controller", "elections, channels, topics"], "pure"),
        svg.box(460, 52, 190, 56, ["session server", "znodes, sessions, quorum"], "pure"),
        svg.box(670, 52, 190, 56, ["clients", "producer, consumer, direct"], "pure"),
        svg.box(880, 52, 200, 56, ["player", "steps: a scenario's, or live ones"], "pure"),
        svg.text(
            40,
            134,
            "inputs: Started, Connection{Accepted,Opened,Lost}, MessageReceived, TimerFired, StopRequested",
            "small",
        ),
        svg.text(
            40,
            152,
            "effects: Open, Close, Send, SetTimer, CancelTimer, Emit, Exit; disk through the injected Files",
            "small",
        ),
        svg.edge([(290, 166), (290, 204)]),
        svg.edge([(830, 166), (830, 204)]),
    ]


def _worlds() -> list[str]:
    network = [svg.area(20, 206, 540, 250, "Network world: processes, TCP, files, signals")]
    for number, left in enumerate((36, 212, 388)):
        network += [
            svg.text(left + 4, 250, f"az-{number}", "small"),
            svg.box(left, 256, 156, 28, [f"broker-{number}"], "shell"),
            svg.box(left, 288, 156, 28, [f"session-{number}"], "shell"),
            svg.box(left, 320, 156, 28, [f"client-{number}"], "shell"),
        ]
    network += [
        svg.edge([(202, 240), (202, 356)], "cut"),
        svg.text(210, 362, "cut: frames vanish at both ends, or packets in the kernel", "small"),
        svg.box(36, 370, 508, 28, ["engine: local processes, containers or network namespaces"], "shell"),
        svg.box(36, 402, 330, 46, ["supervisor", "starts, breaks, applies rules"], "shell"),
        svg.box(376, 402, 168, 46, ["control server", "live commands, loopback"], "shell"),
    ]
    simulated = [
        svg.area(580, 206, 520, 250, "Simulated world: one process, virtual time"),
        svg.box(
            596,
            250,
            488,
            60,
            ["heap of (at_ms, seq, what)", "a frame's arrival, a timer, a step of the player"],
            "shell",
        ),
        svg.box(596, 322, 236, 60, ["one seeded source", "latency, scheduling, ties"], "shell"),
        svg.box(848, 322, 236, 60, ["files in memory", "that know what was synced"], "shell"),
        svg.text(596, 410, "The same frames in real bytes, the same link rules, the same machines.", "small"),
        svg.text(596, 430, "Same seed, same bytes of trace.", "small"),
    ]
    return [*network, *simulated]


def _judges() -> list[str]:
    return [
        svg.box(36, 500, 240, 52, ["events/NODE.N.jsonl", "one JSON line each, with causes"]),
        svg.box(320, 500, 240, 52, ["observations.json", "what came back, as recordings have it"]),
        svg.box(848, 500, 236, 52, ["true state", "logs, epochs, watermarks"]),
        svg.edge([(156, 456), (156, 498)]),
        svg.edge([(440, 456), (440, 498)]),
        svg.edge([(680, 456), (680, 478), (480, 478), (480, 498)]),
        svg.edge([(640, 456), (640, 470), (216, 470), (216, 498)]),
        svg.edge([(966, 456), (966, 498)]),
        svg.box(36, 580, 240, 44, ["audit (Spark): checks"], "judge"),
        svg.box(320, 580, 240, 44, ["compare: golden recordings"], "judge"),
        svg.box(848, 580, 236, 44, ["oracle (plain Python)"], "judge"),
        svg.edge([(156, 552), (156, 578)]),
        svg.edge([(440, 552), (440, 578)]),
        svg.edge([(966, 552), (966, 578)]),
        svg.box(604, 556, 200, 68, ["verdict.json", "report.html", "exit code"], "judge"),
        svg.edge([(560, 602), (602, 594)]),
        svg.edge([(848, 602), (806, 594)]),
        svg.edge([(156, 624), (156, 634), (704, 634), (704, 626)]),
    ]
