"""Blocks of lines as Arrow takes them: what every line says, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.blocks import RARE_COLUMN, Refused, Source, columns_of, tables_of
from audit.event_groups import FAMILY_OF, FREQUENT, RARE_ONES, TABLES
from protocol import events as e
from protocol.events import ENVELOPE, EVENTS, FIELDS
from protocol.events.event_parsing import BOUNDED, NEEDED, NUMBER_MAX, event_in
from tests.audit.trace import dual_leader

if TYPE_CHECKING:
    import pyarrow as pa

BEGINNING = ("format", "run", "node", "incarnation")
"""Fields that are read once, where all lines of a block begin with them."""
HERE = Source("trace", "broker-0.1.jsonl")
SAMPLE: dict[type, Any] = {int: 7, float: 7.5, str: "seven", bool: True}


def fields_of(event: str) -> dict[str, Any]:
    """A line of broker-0's, with every field of its event."""
    fields = {name: SAMPLE[FIELDS[name]] for name in (*ENVELOPE, *EVENTS[event].__struct_fields__)}
    fields |= {"format": e.EVENT_FORMAT, "run": "trace", "node": "broker-0", "incarnation": 1, "event": event}
    return fields | ({"buckets": "1:2 4:1"} if "buckets" in fields else {})


def line_of(event: str, /, **other: object) -> bytes:
    return msgspec.json.encode(fields_of(event) | other)


def block(*lines: bytes) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def tables(lines: bytes, source: Source = HERE) -> dict[str, pa.Table]:
    """Of one block."""
    return {family: table for family, (table, _) in tables_of([(lines, source)]).items()}


def is_taken(lines: bytes, source: Source = HERE) -> bool:
    try:
        tables(lines, source)
    except Refused:
        return False
    return True


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_of_every_kind_is_taken_with_its_fields(event: str) -> None:
    family = FAMILY_OF.get(event, RARE_ONES)
    [(reported, table)] = tables(block(line_of(event))).items()
    [row] = table.to_pylist()
    assert reported == family and list(row) == columns_of(family)
    output = fields_of(event)
    assert {name: value for name, value in row.items() if name != RARE_COLUMN} == {
        name: output.get(name) for name in columns_of(family) if name != RARE_COLUMN
    }
    if family == RARE_ONES:
        reported_there = {name: value for name, value in output.items() if name not in BEGINNING}
        assert msgspec.json.decode(row[RARE_COLUMN]) == reported_there


@pytest.mark.parametrize("event", ["batch_appended", "role_changed"])
def test_the_order_of_a_lines_parts_does_not_matter(event: str) -> None:
    family = FAMILY_OF.get(event, RARE_ONES)
    other = msgspec.json.encode(dict(reversed(fields_of(event).items())))
    usual = tables(block(line_of(event), line_of(event)))[family].drop_columns([RARE_COLUMN] * (family == RARE_ONES))
    for lines in (block(other, other), block(other, line_of(event))):
        assert tables(lines)[family].drop_columns([RARE_COLUMN] * (family == RARE_ONES)) == usual
    together = tables_of([(block(line_of(event)), HERE), (block(other), HERE)])[family].table
    assert together.drop_columns([RARE_COLUMN] * (family == RARE_ONES)) == usual
    assert not is_taken(block(line_of(event), other))  # the first says how all begin


def test_what_lines_begin_with_is_looked_at_as_what_is_in_them() -> None:
    good = line_of("batch_appended")
    assert is_taken(block(good))
    for output, other in (
        (b'"format":2', b'"format":3'),
        (b'"format":2', b'"format":02'),
        (b'"run":"trace"', b'"run":"tr\\u0061ces"'),
        (b'"run":"trace"', b'"run":"trace\t"'),
        (b'"incarnation":1,', b'"incarnation":1,"incarnation":1,'),
        (b'"incarnation":1,', b'"incarnation":1,"run":"trace",'),
        (b'"incarnation":1,', b'"incarnation":1,,'),
    ):
        line = good.replace(output, other)
        assert line != good and not is_taken(block(line)) and not is_taken(block(line, line)), other


@pytest.mark.parametrize("table", TABLES)
def test_columns_that_a_table_needs_are_there(table: str) -> None:
    event, columns = TABLES[table]
    theirs = {*ENVELOPE, *EVENTS[event].__struct_fields__}
    assert {*columns} & theirs <= {*columns_of(table), "run"}
    assert {*columns} <= {*FREQUENT}


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_that_lacks_a_part_is_refused(event: str) -> None:
    whole = fields_of(event)
    for name in ("format", "event", "node", "incarnation", "seq", "at_ms", "run", *NEEDED[event]):
        without = {field: value for field, value in whole.items() if field != name}
        assert not is_taken(block(msgspec.json.encode(without))), name
        assert not is_taken(block(line_of(event, **{name: None}))), name


@pytest.mark.parametrize("event", EVENTS)
def test_what_is_of_another_type_or_size_is_refused(event: str) -> None:
    for name in fields_of(event):
        others: list[object] = [[1], {"a": 1}, {int: "7", float: "7.5", str: 7, bool: 1}[FIELDS[name]]]
        others += [NUMBER_MAX + 1, -NUMBER_MAX - 1] if name in BOUNDED else []
        for other in others:
            assert not is_taken(block(line_of(event, **{name: other}))), (name, other)
    assert not is_taken(block(line_of(event, **{"no_such_field": 1})))


@pytest.mark.parametrize(
    "source",
    [Source("other", HERE.file), *(Source("trace", f"broker-{name}.jsonl") for name in ("1.1", "0.2", "0.11"))],
)
def test_lines_of_another_run_node_or_life_are_refused(source: Source) -> None:
    good = block(line_of("batch_appended"))
    assert is_taken(good) and not is_taken(good, source)
    mixed = [line_of("role_changed", node="broker-1"), line_of("role_changed", incarnation=2)]
    assert not any(is_taken(good + block(line)) for line in mixed)


def test_blocks_that_come_together_are_taken_as_each_by_itself() -> None:
    """Blocks that come together are taken as each by itself.

    Of several files: no row is another block's, and one refused block refuses them all.
    """
    kinds = ("batch_appended", "role_changed", "node_started", "batch_appended", "high_watermark_moved")
    blocks = []
    for number, kind in enumerate(kinds):
        who = {"node": f"broker-{number}", "run": f"run-{number % 2}", "incarnation": 1 + number % 3}
        lines = block(*[line_of(kind, **who, seq=seq) for seq in range(number + 1)])
        blocks.append((lines, Source(f"run-{number % 2}", f"broker-{number}.{1 + number % 3}.jsonl")))
    together = tables_of(blocks)
    for family, (table, counts) in together.items():
        assert len(counts) == len(blocks) and sum(counts) == table.num_rows
        begin = 0
        for count, (lines, source) in zip(counts, blocks, strict=True):
            alone = tables(lines, source).get(family)
            assert table.slice(begin, count).to_pylist() == ([] if alone is None else alone.to_pylist())
            begin += count
    for number, (lines, source) in enumerate(blocks):
        other = Source("run-7", source.file)
        with pytest.raises(Refused):
            tables_of([*blocks[:number], (lines, other), *blocks[number + 1 :]])


GOOD = line_of("batch_appended")
NASTY = {
    "an empty line": block(GOOD, b"", GOOD),
    "no last line end": block(GOOD) + GOOD,
    "two on one line": block(GOOD + GOOD),
    "one on two lines, and two on one": block(GOOD[:-1] + b"\n}", GOOD + GOOD),
    "an object within, with an end of a line behind it": block(
        GOOD[:-1] + b',"x":{}\n,"y":{"event":"batch_appended"}}'
    ),
    "a carriage return": block(GOOD[:1] + b"\r" + GOOD[1:]),
    "lines that end with one": block(GOOD + b"\r", GOOD + b"\r"),
    "no UTF-8": block(line_of("batch_appended", cause="x").replace(b'"x"', b'"\xff"')),
    "half of a surrogate": block(line_of("batch_appended", cause="x").replace(b'"x"', b'"\\ud800"')),
    "the other half": block(line_of("batch_appended", cause="x").replace(b'"x"', b'"\\udc00"')),
    "a field twice": block(GOOD[:-1] + b',"seq":8}'),
    "its event twice": block(GOOD[:-1] + b',"event":"batch_appended"}'),
    "an event within a field": block(GOOD[:-1] + b',"x":{"event":"batch_appended"}}'),
    "no number": block(GOOD.replace(b'"at_ms":7.5', b'"at_ms":NaN')),
    "a number without an end": block(GOOD.replace(b'"at_ms":7.5', b'"at_ms":-Infinity')),
    "a whole number written as a fraction": block(GOOD.replace(b'"seq":7', b'"seq":7.0')),
    "a comma at the end": block(GOOD[:-1] + b",}"),
    "a comment": block(GOOD[:-1] + b"/**/}"),
    "what is behind it": block(GOOD + b",", GOOD),
    "zero bytes": block(GOOD, b"\0" * 9, GOOD),
    "a name with a space before its colon": block(GOOD.replace(b'"event":', b'"event" :')),
    "buckets that cannot be read": block(line_of("timer_lateness", buckets="1:2\n")),
    "an unknown event": block(line_of("batch_appended", event="batch_burnt")),
    "nothing": b"",
}


@pytest.mark.parametrize("lines", NASTY.values(), ids=NASTY)
def test_what_could_be_read_in_two_ways_is_refused(lines: bytes) -> None:
    assert is_taken(block(GOOD, GOOD))
    assert not is_taken(lines)


def test_text_of_every_kind_is_taken() -> None:
    text = 'é\u2028"event":"role_changed"\\ \x7f\0 \U0001f600'
    lines = block(
        line_of("operation_invoked", value=text),
        line_of("operation_invoked", value=text).replace(b"\xc3\xa9", b"\\u00e9"),
    )
    [table] = tables(lines).values()
    assert table["value"].to_pylist() == [text, text]


KEPT_LINES = [
    line.rstrip() for (node, life, wire), lines in dual_leader().files.items() if node == "broker-0" for line in lines
]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_is_taken_equals_its_lines(data: st.DataObject) -> None:
    """Lines changed at any byte.

    Each line that is taken is an event by itself, with the same rows.
    """
    lines = data.draw(st.lists(st.sampled_from(KEPT_LINES), min_size=1, max_size=4))
    for _ in range(data.draw(st.integers(0, 2))):
        which = data.draw(st.integers(0, len(lines) - 1))
        at = data.draw(st.integers(0, len(lines[which])))
        gone = data.draw(st.integers(0, 3))
        there = data.draw(
            st.sampled_from(
                [b"", b'"', b"}", b"{", b"\n", b",", b"1", b"-", b".", b"e", b"\\", b"\xc3", b" ", b"null", b"}\n{"]
            )
        )
        lines[which] = lines[which][:at] + there + lines[which][at + gone :]
    whole = block(*lines)
    try:
        taken = tables(whole)
    except Refused:
        return
    events = [event_in(line) for line in whole.split(b"\n")[:-1]]
    for family, table in taken.items():
        of_family = [one for one in events if one is not None and FAMILY_OF.get(one["event"], RARE_ONES) == family]
        output = [{name: one.get(name) for name in columns_of(family) if name != RARE_COLUMN} for one in of_family]
        assert output == [
            {name: value for name, value in row.items() if name != RARE_COLUMN} for row in table.to_pylist()
        ]
    assert sum(table.num_rows for table in taken.values()) == len(events)
