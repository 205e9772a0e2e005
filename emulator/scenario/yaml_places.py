"""Positions in a scenario's file: of a step by number, of the subject of a message. Pure."""

import re
from collections.abc import Iterator

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from emulator.scenario.document import Reader
from emulator.settings.setting import CONSUMER, PRODUCER, TOPIC

BLOCKS = (
    ("--settings", "settings_files"),
    ("settings of broker-", "settings_by_broker"),
    ("settings of ", "settings_by_version"),
    ("settings", "settings"),
    ("the produce of", "produce"),
    ("workload ", "workload"),
    ("topic ", "create-topic"),
    ("alter-topic", "alter-topic"),
    ("alter-broker", "alter-broker"),
    ("a consumer of", "consume"),
)
"""Beginnings of places in messages on settings (`settings.applied.Given.where`), with keys."""


def line_of_step(text: str, number: int) -> int | None:
    """From 1; a step of a repetition counts each time. None: the text has no such step."""
    root = Reader().document(text)
    steps = _value(root, "steps")
    for count, item in enumerate(_in_play_order(steps), start=1):
        if count == number:
            return int(item.start_mark.line) + 1
    return None


def names_a_block(message: str) -> bool:
    """Whether a message on settings begins with a place in the scenario itself."""
    return any(message.startswith(beginning) for beginning, _ in BLOCKS[1:])


def place_of_problem(text: str, message: str) -> tuple[int, int]:
    """Line and column, from 1, of the subject of a message about settings or a start.

    The step that it numbers, else the setting that it names, within the block that it names first. The document's
    beginning if it names neither.
    """
    root = Reader().document(text)
    numbered = re.match(r"step (\d{1,6}),", message)
    if numbered and (line := line_of_step(text, int(numbered[1]))):
        return line, 1
    blocks = [key for beginning, key in BLOCKS if message.startswith(beginning)]
    within: list[tuple[Node, Node]] = [pair for block in blocks[:1] for pair in _keys(root, {block})]
    names = set(re.findall(r"[A-Za-z][\w.-]*", message))
    kinds = tuple(f"{kind}." for kind in (PRODUCER, CONSUMER, TOPIC))
    names |= {f"{kind}{name}" for kind in kinds for name in names} | {
        name.removeprefix(kind) for kind in kinds for name in names
    }
    values: list[Node | None] = [value for _, value in within] if within else [root]
    for value in values:
        for key, _ in _keys(value, {name for name in names if "." in name}):
            return _start(key)
    return _start(within[0][0] if within else root)


def _start(node: Node | None) -> tuple[int, int]:
    return (1, 1) if node is None else (int(node.start_mark.line) + 1, int(node.start_mark.column) + 1)


def _keys(node: Node | None, names: set[str]) -> Iterator[tuple[Node, Node]]:
    """Keys of these names with their values, however deep, in the order of the file."""
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if key.value in names:
                yield key, value
            yield from _keys(value, names)
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from _keys(item, names)


def _in_play_order(steps: Node | None) -> Iterator[Node]:
    for item in steps.value if isinstance(steps, SequenceNode) else ():
        repeated, things = _value(item, "repeat"), _value(item, "record")
        if repeated is not None:
            times = _value(repeated, "times")
            for _ in range(int(times.value) if isinstance(times, ScalarNode) else 0):
                yield from _in_play_order(_value(repeated, "steps"))
        else:
            what = _value(things, "what") or things
            yield from [item] * (len(what.value) if isinstance(what, SequenceNode) else 1)


def _value(node: Node | None, key: str) -> Node | None:
    pairs = node.value if isinstance(node, MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)
