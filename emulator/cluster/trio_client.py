"""Client of the control server for programs that run on trio."""

import trio

from emulator.cluster.cluster_registry import Registration
from emulator.cluster.control_client import MARGIN_S, RECEIVE_BYTES, not_there_yet, too_late, unreachable
from emulator.cluster.control_requests import WAIT_S, Answer, ControlRequest
from emulator.cluster.http.request_exchange import Exchange


async def ask(at: Registration, what: ControlRequest, wait_s: float = WAIT_S) -> Answer:
    """As `control_client.ask`. A cancelled call stops listening; its request goes on."""
    exchange = Exchange(at.token, what, wait_s)
    if not at.port:
        return not_there_yet(at)
    try:
        with trio.fail_after(wait_s + MARGIN_S):
            async with await trio.open_tcp_stream(at.host, at.port) as stream:
                await stream.send_all(exchange.request)
                answer = None
                while answer is None:
                    answer = exchange.add(await stream.receive_some(RECEIVE_BYTES))
                return answer
    except trio.TooSlowError:
        return too_late(at, wait_s)
    except (OSError, trio.BrokenResourceError) as error:
        return unreachable(at, error)
