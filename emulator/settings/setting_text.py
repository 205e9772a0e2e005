"""Text about a setting: its default, allowed values, versions, and update mode."""

from emulator.settings.setting import DOUBLE_MAX, INT_MAX, LONG_MAX, Setting, shown_version

VERSIONS = ("inter.broker.protocol.version", "log.message.format.version")
NAMES = {LONG_MAX: "2^63-1", INT_MAX: "2^31-1"}


def number(value: float) -> str:
    if isinstance(value, int):
        return NAMES.get(value, str(value))
    return "no limit" if value == DOUBLE_MAX else NAMES.get(int(value), f"{value:g}")


def default(setting: Setting) -> str:
    """`10000; 2.5: 30000`: the first from its first version on."""
    if setting.follows or setting.name in VERSIONS:
        return setting.follows or "the broker's version"
    steps = [(first, value_in_words(value)) for first, value in setting.defaults]
    parts = [word if index == 0 else f"{shown_version(first)}: {word}" for index, (first, word) in enumerate(steps)]
    return "; ".join(parts)


def default_in(setting: Setting, version: str) -> str:
    if setting.name in VERSIONS:
        return version
    if setting.follows:
        return f"as {setting.follows}"
    return value_in_words(setting.default_in(version))


def value_in_words(value: object) -> str:
    if value is None or value == "":
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    return number(value) if isinstance(value, int | float) else str(value)


def allowed(setting: Setting, version: str | None = None) -> str:
    """Without a version: in any."""
    if setting.kind == "bool":
        return "true, false"
    words = setting.words_in(version)
    if words:
        return ", ".join(words)
    if setting.kind in ("int", "long", "short", "double"):
        low, high = setting.range_in(version)
        if low is None:
            return "a number" if high is None else f"up to {number(high)}"
        return f"{number(low)} or more" if high is None else f"{number(low)} to {number(high)}"
    return {"list": "a list", "class": "a class", "password": "a secret"}.get(setting.kind, "text")


def lifetime(setting: Setting) -> str:
    return lifetime_of(setting.since, setting.until)


def lifetime_of(since: str, until: str) -> str:
    """`2.1 on`, `up to 0.8.2`, `0.9 to 0.11`; "" is open."""
    first, last = shown_version(since), shown_version(until)
    if first and last:
        return first if first == last else f"{first} to {last}"
    return f"{first} on" if first else f"up to {last}" if last else "all"


def updates(setting: Setting) -> str:
    """Update mode, such as `cluster-wide, since 1.1`; "": a running broker cannot alter it."""
    if not setting.update:
        return ""
    first = setting.since if setting.since and setting.update_since == "1.1" else setting.update_since
    return f"{setting.update}, since {shown_version(first)}" + (", and in no other way" if setting.only_update else "")
