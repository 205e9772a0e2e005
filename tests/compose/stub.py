"""Stands in for a node in a container.

Listens at the same port, reports it, and ends on request.
"""

import os
import signal
import socket
import sys
from pathlib import Path

name = os.environ["FAULTLINE_NODE"]
listeners = [socket.create_server(("0.0.0.0", port)) for port in (9091, 9092)]
for folder in (os.environ["FAULTLINE_DATA_FOLDER"], "/faultline/run/events", "/faultline/run/output", "/tmp"):
    Path(folder).mkdir(exist_ok=True)
    (Path(folder) / f"{name}.1.txt").write_text(name, encoding="utf-8")
signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
print("listening", name, flush=True)
signal.pause()
