"""Validation of znode paths. Semantics 5.1."""

from functools import lru_cache

ROOT = "/"


@lru_cache(maxsize=4096)
def valid_path(path: str) -> bool:
    """Whether a path is absolute, without empty, "." or ".." parts and trailing slash."""
    if path == ROOT:
        return True
    if not path.startswith("/") or "\0" in path:
        return False
    return all(part not in ("", ".", "..") for part in path[1:].split("/"))
