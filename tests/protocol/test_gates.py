"""Each gate on both sides of each of its boundaries, from the table itself."""

from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import pytest

from docs.generate.source import fields_of
from protocol.gates import GATES, Gate, Gates, Span, gates_for
from protocol.versions import LADDER, VERSIONS, releases

PAIRS = [(binary, ibp) for place, binary in enumerate(LADDER) for ibp in LADDER[: place + 1]]
FIELDS = {field.name: field for field in fields_of(Path(__file__).parents[2] / "protocol" / "gates.py", "Gates")}


class Boundary(NamedTuple):
    """Neighbours on the ladder, and a gate's value at each.

    `by`: the version that decides, in the plane `metadata`.
    """

    gate: str
    by: str
    older: str
    newer: str
    values: tuple[object, object]
    metadata: str = ""


def _neighbours(first: str) -> tuple[str, str]:
    """The last step of the ladder before a release, and the next."""
    [newer, *_] = [step for step in VERSIONS if releases().index(step) >= releases().index(first)]
    return VERSIONS[VERSIONS.index(newer) - 1], newer


def _boundaries(name: str, gate: Gate) -> list[Boundary]:
    if gate.steps:
        pairs = zip(gate.steps, gate.steps[1:], strict=False)
        return [
            Boundary(name, gate.by, *_neighbours(first), (before, after)) for (_, before), (first, after) in pairs
        ]
    found = []
    for span in filter(None, (gate, gate.and_within, gate.or_within)):
        if span.since:
            found.append(Boundary(name, span.by, *_neighbours(span.since), (False, True), span.metadata))
        if span.until:
            after = releases()[releases().index(span.until) + 1]
            found.append(Boundary(name, span.by, *_neighbours(after), (True, False), span.metadata))
    return found


BOUNDARIES = [boundary for name, gate in GATES.items() for boundary in _boundaries(name, gate)]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda one: f"{one.gate}-{one.older}-{one.newer}")
def test_a_gate_changes_between_the_neighbours_of_its_boundary(boundary: Boundary) -> None:
    """The other version may be any that both neighbours can have."""
    older, newer = VERSIONS.index(boundary.older), VERSIONS.index(boundary.newer)
    assert newer == older + 1
    if boundary.by == "binary":
        sides = [((boundary.older, ibp), (boundary.newer, ibp)) for ibp in VERSIONS[:newer]]
    else:
        sides = [((binary, boundary.older), (binary, boundary.newer)) for binary in VERSIONS[newer:]]
    plane = boundary.metadata or "zookeeper"
    values = [tuple(getattr(gates_for(*pair, metadata=plane), boundary.gate) for pair in side) for side in sides]
    assert boundary.values in values


@pytest.mark.parametrize("name", [name for name, gate in GATES.items() if gate.metadata])
def test_a_gate_of_one_plane_holds_in_no_other(name: str) -> None:
    other = {"kraft": "zookeeper", "zookeeper": "kraft"}[GATES[name].metadata]
    assert not any(getattr(gates_for(version, metadata=other), name) for version in VERSIONS)
    assert any(getattr(gates_for(version, metadata=GATES[name].metadata), name) for version in VERSIONS)


@pytest.mark.parametrize("name", GATES)
def test_a_gate_changes_nowhere_else(name: str) -> None:
    """Every change of a value is one of the table's boundaries."""
    crossed = {(one.by == "binary", one.newer) for one in BOUNDARIES if one.gate == name}
    for binary, ibp in PAIRS:
        value, place = getattr(gates_for(binary, ibp), name), LADDER.index(ibp)
        if binary != ibp and getattr(gates_for(LADDER[LADDER.index(binary) - 1], ibp), name) != value:
            assert (True, binary) in crossed, (binary, ibp)
        if place and getattr(gates_for(binary, LADDER[place - 1]), name) != value:
            assert (False, ibp) in crossed, (binary, ibp)


@pytest.mark.parametrize(
    ("message_format", "magic"), [("0.8.2", 0), ("0.9.0", 0), ("0.10.0", 1), ("0.10.2", 1), ("0.11.0", 2), ("2.8", 2)]
)
def test_the_message_format_lowers_the_gates_of_the_record_format(message_format: str, magic: int) -> None:
    gates = gates_for("2.8", None, message_format)
    assert (gates.record_magic, gates.has_epoch_cache, gates.wrapper_reads_whole) == (magic, magic == 2, magic < 2)
    assert gates.assigns_epoch_on_election is (magic == 2)
    assert gates_for("0.10.2", None, message_format).record_magic == min(magic, 1)


@pytest.mark.parametrize("boundary", ["2.0", "0.8", "0.10", "0.11.0", "2.6.3", "5.0"])
def test_a_boundary_is_the_name_of_a_release_and_no_other_name_for_one(boundary: str) -> None:
    """`2.0` stands for 2.0.1.

    A gate that began with it left 2.0.0 out (KAFKA-6526 came with 2.0.0).
    """
    message = rf"^gate boundary '{boundary}': not a release's name; write one of: 0.8.2, "
    wrong: tuple[dict[str, Any], ...] = ({"since": boundary}, {"until": boundary}, {"steps": ((boundary, 1),)})
    for fields in wrong:
        with pytest.raises(ValueError, match=message):
            Gate(source="it", **fields)
    with pytest.raises(ValueError, match=message):
        Span(since=boundary)


def test_a_gate_does_not_end_before_it_begins() -> None:
    with pytest.raises(ValueError, match=r"^gate boundaries '2.4' to '2.3': in the wrong order; exchange them$"):
        Gate(since="2.4", until="2.3", source="it")


@pytest.mark.parametrize("name", GATES)
def test_a_gate_has_a_source_a_meaning_and_the_type_of_its_values(name: str) -> None:
    gate = GATES[name]
    kind = get_type_hints(Gates)[name]
    assert {type(value) for _, value in gate.steps} == ({kind} if gate.steps else set())
    assert bool(gate.steps) is (kind is not bool)
    assert gate.source
    assert FIELDS[name].text
    assert FIELDS[name].heading


def test_every_attribute_but_the_two_versions_is_a_gate() -> None:
    assert Gates.__struct_fields__ == ("binary", "inter_broker_protocol", "metadata", *GATES)
