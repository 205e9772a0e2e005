"""Many silent connections, and the count of those that the other side has closed."""

import errno
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def silent(address: tuple[str, int], count: int, first_bytes: bytes = b"") -> Iterator[list[socket.socket]]:
    """`count` connections that say `first_bytes` and nothing more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 512)), hard))
    try:
        with ExitStack() as held:
            there: list[socket.socket] = []
            for _ in range(count):
                sock = held.enter_context(socket.socket())
                sock.setblocking(False)
                code = sock.connect_ex(address)
                assert code in (0, errno.EINPROGRESS), errno.errorcode[code]
                there.append(sock)
                if first_bytes and code == 0:
                    sock.send(first_bytes)
            yield there
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def closed(sockets: list[socket.socket]) -> int:
    """The number of these connections that the other side has closed by now."""
    count = 0
    for sock in sockets:
        try:
            count += sock.recv(1) == b""
        except BlockingIOError:
            continue
        except OSError:
            count += 1
    return count
