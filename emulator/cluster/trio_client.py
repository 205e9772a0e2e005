"""Client of the control server for programs that run on trio."""

import trio

from emulator.cluster.cluster_registry import Registration
from emulator.cluster.control_client import (
    MARGIN_S,
    RECEIVE_BYTES,
    Received,
    not_there_yet,
    too_late,
    unreachable,
)
from emulator.cluster.control_requests import WAIT_S, Answer, Ask, Malformed, decode_answer, encode_request


async def ask(at: Registration, what: Ask, wait_s: float = WAIT_S) -> Answer:
    """As `control_client.ask`. A cancelled call stops listening; its request goes on."""
    line = encode_request(at.token, what, wait_s)
    if not at.port:
        return not_there_yet(at)
    try:
        with trio.fail_after(wait_s + MARGIN_S):
            async with await trio.open_tcp_stream(at.host, at.port) as stream:
                await stream.send_all(line)
                received = Received()
                while (whole := received.add(await stream.receive_some(RECEIVE_BYTES))) is None:
                    pass
                return decode_answer(whole)
    except trio.TooSlowError:
        return too_late(at, wait_s)
    except (OSError, trio.BrokenResourceError, Malformed) as error:
        return unreachable(at, error)
