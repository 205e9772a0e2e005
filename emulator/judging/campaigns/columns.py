"""Columns of rows, for Parquet and for Spark's SQL, both derived from the struct."""

from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin

import msgspec

from emulator.judging.campaigns.row import PARTITIONED_BY, Row, described

if TYPE_CHECKING:
    import pyarrow as pa

SQL: Final[dict[Any, str]] = {str: "STRING", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}


def sql_type(kind: Any) -> str:
    """The SQL type of a Python type: `ARRAY<STRING>` of tuple[str, ...]."""
    if kind in SQL:
        return SQL[kind]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"STRUCT<{', '.join(f'{name}: {sql_type(one)}' for name, (one, _) in described(kind).items())}>"
    match get_origin(kind), get_args(kind):
        case (origin, parts) if origin is tuple:
            return f"ARRAY<{sql_type(parts[0])}>"
        case (origin, (key, value)) if origin is dict:
            return f"MAP<{sql_type(key)}, {sql_type(value)}>"
    return sql_type(_but_none(kind))


def sql_columns() -> str:
    """All columns, also those from folder names, for files that may not exist yet."""
    return ", ".join(f"`{name}` {sql_type(kind)}" for name, (kind, _) in described(Row).items())


def arrow_schema() -> "pa.Schema":
    """Schema of a file, without the columns from folder names."""
    import pyarrow as pa

    columns = described(Row).items()
    return pa.schema([_field(name, kind) for name, (kind, _) in columns if name not in PARTITIONED_BY])


def _field(name: str, kind: Any) -> "pa.Field":
    import pyarrow as pa

    return pa.field(name, _arrow_type(kind), nullable=NoneType in get_args(kind))


def _arrow_type(kind: Any) -> "pa.DataType":
    import pyarrow as pa

    plain = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    if kind in plain:
        return plain[kind]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return pa.struct([_field(name, one) for name, (one, _) in described(kind).items()])
    match get_origin(kind), get_args(kind):
        case (origin, parts) if origin is tuple:
            return pa.list_(pa.field("element", _arrow_type(parts[0]), nullable=False))
        case (origin, (key, value)) if origin is dict:
            return pa.map_(_arrow_type(key), pa.field("value", _arrow_type(value), nullable=_nullable(value)))
    return _arrow_type(_but_none(kind))


def _nullable(kind: Any) -> bool:
    return NoneType in get_args(kind)


def _but_none(kind: Any) -> Any:
    """T of `T | None`."""
    assert get_origin(kind) in (Union, UnionType), kind
    [one] = [part for part in get_args(kind) if part is not NoneType]
    return one
