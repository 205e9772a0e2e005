"""`faultline status` of a cluster that stays."""

from typing import Any

from emulator.commands.live_asking import refused
from emulator.commands.status import NoStatus, status_command
from emulator.live.ask import ask
from emulator.live.registry import NoCluster, choose
from emulator.live.requests import Status


def live_status_command(cluster: str | None, watch: bool, json: bool) -> int:
    """`cluster`: a name or a directory; None: the only one."""
    try:
        registration = choose(cluster).registration
    except NoCluster as error:
        return refused("status", error)

    def look() -> dict[str, Any]:
        answer = ask(registration, Status())
        if answer.code != 0:
            raise NoStatus(answer.error)
        return answer.result

    return status_command(look, watch, json)
