"""Values of a request that are out of bounds, named as the command line names them.

They are found before the request is sent. The bounds are those of the requests' types, by which the control server
decodes: both refuse the same.
"""

from collections.abc import Iterator
from itertools import repeat
from math import isfinite
from typing import Any, Final

import msgspec
from msgspec import inspect

from emulator.cluster.control_requests import AddPartitions, ControlRequest, ElectPreferred, Machine
from emulator.faults.machine_fault_kinds import LIVE_FAULTS

OPTIONS: Final = {
    "fault": "words",
    "place": "words",
    "rate_per_s": "--rate",
}
"""{field: its option}, if the command line names it otherwise."""
ARGUMENTS: Final = frozenset(("topic", "node", "values", "targets"))
"""Fields that are arguments of commands, not options."""


def unfit(ask: ControlRequest) -> str:
    """`--retries -1: from 0 to 2147483647` of the first field out of bounds; "": there is none."""
    values = [(getattr(ask, field.name), field) for field in _fields(type(ask))]
    if isinstance(ask, Machine):
        fields = _fields(LIVE_FAULTS[ask.fault])
        values += [(ask.given[field.name], field) for field in fields if field.name in ask.given]
    for value, field in values:
        for why in _unfit(value, field.type):
            return f"{_called(ask, field.name)} {why}"
    return ""


def _fields(of: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    found = inspect.type_info(of)
    assert isinstance(found, inspect.StructType)
    return found.fields


def _called(ask: ControlRequest, field: str) -> str:
    is_argument = field in ARGUMENTS or (isinstance(ask, AddPartitions | ElectPreferred) and field == "partitions")
    return field if is_argument else OPTIONS.get(field) or f"--{field.replace('_', '-')}"


def _unfit(value: Any, of_type: inspect.Type) -> Iterator[str]:
    match of_type:
        case inspect.UnionType():
            for one in of_type.types:
                yield from _unfit(value, one)
        case inspect.StructType():
            for field in of_type.fields if type(value) is of_type.cls else ():
                yield from _unfit(getattr(value, field.name), field.type)
        case inspect.VarTupleType() | inspect.TupleType() if isinstance(value, tuple):
            types = of_type.item_types if isinstance(of_type, inspect.TupleType) else repeat(of_type.item_type)
            for item, item_type in zip(value, types, strict=False):
                yield from _unfit(item, item_type)
        case inspect.ListType() if isinstance(value, list):
            for item in value:
                yield from _unfit(item, of_type.item_type)
        case inspect.DictType() if isinstance(value, dict):
            for item in value.values():
                yield from _unfit(item, of_type.value_type)
        case inspect.IntType(ge=int() as low, le=int() as high) if isinstance(value, int):
            if not low <= value <= high:
                yield f"{value}: from {low} to {high}"
        case inspect.FloatType() if isinstance(value, float) and not isfinite(value):
            yield f"{value}: no number"
        case inspect.FloatType(ge=float() as low, le=float() as high) if isinstance(value, float):
            if not low <= value <= high:
                yield f"{value:g}: from {low:.15g} to {high:.15g}"
        case inspect.StrType(min_length=int() as low) if value == "" and low:
            yield "'': it is empty"
        case inspect.StrType(max_length=int() as high) if isinstance(value, str) and len(value) > high:
            yield f"of {len(value)} characters: at most {high}"
