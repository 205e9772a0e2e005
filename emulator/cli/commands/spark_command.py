"""`faultline spark status|start|stop`: the Spark server that all commands of a user share."""

import time
from contextlib import suppress
from typing import Literal

import msgspec
import psutil

from audit.java import NoJavaError
from audit.spark_java import SparkNotStarted
from audit.warm_spark import own_folder, running, stop, used
from emulator.cli.commands.command_errors import reports_errors
from emulator.cluster.state_home import NoStateHome
from emulator.exit_codes import HELD


@reports_errors("spark", NoJavaError, NoStateHome, unknown=(SparkNotStarted,))
def spark_command(action: Literal["status", "start", "stop"] = "status", /, *, json: bool = False) -> int:
    """Show, start or stop the Spark server that commands share.

    The first command that needs it starts it. It ends by itself when no command has used it for ten minutes.

    Parameters
    ----------
    action
        status, start or stop.
    json
        Print the servers as a list of objects.
    """
    if action == "start":
        with used(own_folder()):
            pass
    stopped = [str(server.java_pid) for folder, server in running() if stop(folder)] if action == "stop" else []
    servers = []
    for _, server in running():
        with suppress(psutil.NoSuchProcess):
            servers.append(_described(server.java_pid, server.port))
    if json:
        print(msgspec.json.encode(servers).decode())
        return HELD
    for pid in stopped:
        print(f"stopped: process {pid}")
    for one in servers:
        print(f"running: process {one['pid']}, port {one['port']}, {one['memory_mib']} MiB, for {one['seconds']} s")
    if not servers and not stopped:
        print("no Spark server runs; the first command that needs one starts it")
    return HELD


def _described(pid: int, port: int) -> dict[str, int]:
    """One server. Raises psutil.NoSuchProcess: it has ended meanwhile."""
    process = psutil.Process(pid)
    seconds = int(time.time() - process.create_time())
    return {"pid": pid, "port": port, "memory_mib": process.memory_info().rss >> 20, "seconds": seconds}
