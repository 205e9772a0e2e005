"""Where in a scenario's file a step stands, by its number as the player counts. Pure."""

from collections.abc import Iterator

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from emulator.scenario.document import Reader


def line_of_step(text: str, number: int) -> int | None:
    """From 1; a step of a repetition counts each time. None: the text has no such step."""
    root = Reader().document(text)
    steps = _value(root, "steps")
    for count, item in enumerate(_in_play_order(steps), start=1):
        if count == number:
            return int(item.start_mark.line) + 1
    return None


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
