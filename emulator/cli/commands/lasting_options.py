"""Times as options of commands: `--for 90s`, `10m`, `1h`."""

from typing import Final

from emulator.judging.campaigns.space import UnusableSpace
from protocol.numbers import number_in

UNITS_S: Final = {"s": 1, "m": 60, "h": 3600}


def seconds_of(lasting: str, option: str = "--for") -> float:
    """Seconds of the time that `option` gives. Raises UnusableSpace."""
    number, unit = number_in(lasting[:-1]), lasting[-1:]
    if unit not in UNITS_S or not number:
        raise UnusableSpace(f"{option} {lasting!r}: expected a time such as 90s, 10m or 1h")
    return float(number * UNITS_S[unit])
