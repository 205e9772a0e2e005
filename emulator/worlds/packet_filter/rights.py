"""Requirements of the kernel driver: Linux, nft, nsenter, rights on network namespaces."""

import ctypes
import os
import shutil
from typing import Final

TOOLS: Final = {"nft": "nftables", "nsenter": "util-linux", "ip": "iproute2"}
"""{command: Debian's package}."""
CLONE_NEWNET: Final = 0x40000000


class NoRights(Exception):
    """A missing requirement; the message has the remedy."""


def missing() -> list[str]:
    """The missing requirements, each with its remedy; none: the kernel driver works here."""
    problems = [f"no {tool} command (Debian: {of})" for tool, of in TOOLS.items() if shutil.which(tool) is None]
    if os.geteuid() != 0:
        problems.append("not root: packet filters of other network namespaces are changed by root only (try sudo)")
    elif not _may_make_namespace():
        problems.append("root without CAP_SYS_ADMIN: no network namespace can be made or entered here")
    return problems


def require_rights() -> None:
    """Raises NoRights."""
    if problems := missing():
        raise NoRights("--driver kernel cannot work here: " + "; ".join(problems) + "; or use --driver nodes")


def _may_make_namespace() -> bool:
    """Whether a namespace can be made, tried in a child process."""
    child = os.fork()
    if child == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        os._exit(0 if libc.unshare(CLONE_NEWNET) == 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
