"""Runs in a node's container: prints its findings on `NAME:PORT` and its own rights as JSON."""

import json
import os
import socket
import sys
from pathlib import Path


def reached(place: str) -> object:
    name, _, port = place.partition(":")
    try:
        addresses = sorted({str(found[4][0]) for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)})
        socket.create_connection((name, int(port)), timeout=5).close()
    except OSError as error:
        return str(error)
    return len(addresses)


def writable(folder: str) -> bool:
    try:
        Path(folder, "probe").touch()
    except OSError:
        return False
    return True


status = dict(line.split(":\t", 1) for line in Path("/proc/1/status").read_text(encoding="utf-8").splitlines())
print(
    json.dumps(
        {
            "reached": {place: reached(place) for place in sys.argv[1:]},
            "capabilities": int(status["CapBnd"], 16),
            "no_new_privileges": status["NoNewPrivs"],
            "user": os.getuid(),
            "writable": [folder for folder in ("/", "/faultline", "/faultline/secret", "/opt") if writable(folder)],
        }
    )
)
