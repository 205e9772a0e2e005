"""Parameters of a scenario's file: named places, and the file with other values there. Pure.

    sleep#2=30                          the second `sleep`, as they are written; `sleep=30` where there is but one
    cut.at_s=12                         its time; a missing key is added
    create-topic#1.assignment=[1, 0]    a verb's key, here: the leader
    topology.brokers=5                  of the cluster, and likewise network.latency_ms

Every value is one of YAML's and stands in one line. Lines stay where they are, so that an error names the place in the
file that a person has before them; only a step that is not written in braces gets a line for a key that it lacked.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from emulator.old_names import notice, renamed_key, renamed_verb
from emulator.scenario.document import Reader, nearest, plain
from emulator.scenario.step_reader import StepReader
from emulator.scenario.verbs import VERBS
from protocol.numbers import number_in

WHOLE: Final = ("topology", "network")
"""Keys of the file itself; all others are verbs."""
AROUND: Final = ("at_s", "background")
"""Keys beside a verb."""
SHOWN_MAX: Final = 6
_NAME: Final = re.compile(r"([a-z-]+)(?:#([0-9]{1,6}))?((?:\.[A-Za-z0-9_.-]+)?)")


class UnusableParameter(ValueError):
    """One line that names the parameter and the nearest that there is."""


class Parameter(msgspec.Struct, frozen=True):
    """`sleep#2`: word "sleep", number 2; 0 where the name has none. `keys`: below it."""

    name: str
    word: str
    number: int
    keys: tuple[str, ...]
    value: str


class _Edit(msgspec.Struct, frozen=True, order=True):
    """Replacement of the text from `begin` to `end` (exclusive) by `text`."""

    begin: int
    end: int
    text: str


def parameter_of(word: str) -> Parameter:
    """`NAME=VALUE`. Raises UnusableParameter."""
    name, equals, value = word.partition("=")
    name, value = name.strip(), value.strip()
    found = _NAME.fullmatch(name)
    if not equals or not value:
        raise UnusableParameter(f"{word!r}: expected NAME=VALUE, such as sleep#2=30")
    if found is None:
        raise UnusableParameter(f"{name}: expected VERB, VERB#NUMBER or VERB.KEY, such as sleep#2 or cut.at_s")
    return Parameter(name, found[1], int(found[2] or 0), tuple(found[3].split(".")[1:]), value)


def with_parameters(text: str, words: Sequence[str], warn: Callable[[str], None] = lambda _: None) -> str:
    """The file with these values. Raises UnusableParameter.

    `warn`: receives a line for each old name in `words`; old names in the file are the loader's.

    A text that is no YAML is returned unchanged: its loader reports the error.
    """
    if not words:
        return text
    reader = StepReader()
    root = reader.document(text)
    if not isinstance(root, MappingNode):
        return text
    reader.rename(_within(root, "steps"))
    edits = sorted(_edit(root, _renamed(root, parameter_of(word), warn)) for word in words)
    for one, other in pairwise(edits):
        if other.begin < one.end:
            raise UnusableParameter(f"two parameters change the same place: {one.text} and {other.text}")
    for edit in reversed(edits):
        text = text[: edit.begin] + edit.text + text[edit.end :]
    return text


def _renamed(root: MappingNode, parameter: Parameter, warn: Callable[[str], None]) -> Parameter:
    """The parameter with the names of now for its verb and key."""
    word, keys = parameter.word, parameter.keys
    here = any(_of_verb(_within(root, "steps"), word))
    value = plain(_value_node(parameter)) if here and not keys else {"s": None} if not here or keys == ("s",) else None
    if (verb := renamed_verb("scenario", word, value)) is not None:
        warn(notice(verb, parameter.name))
        word = verb.name
    if keys and (key := renamed_key("scenario", word, keys[0])) is not None:
        warn(notice(key, parameter.name))
        keys = (key.name, *keys[1:])
    return msgspec.structs.replace(parameter, word=word, keys=keys)


def _edit(root: MappingNode, parameter: Parameter) -> _Edit:
    value = _one_value(parameter)
    node, path = _place(root, parameter)
    for number, key in enumerate(path):
        inner = _within(node, key)
        if inner is None:
            if node is root and len(path) == 2:
                return _Edit(root.end_mark.index, root.end_mark.index, f"\n{key}: {{{path[1]}: {value}}}\n")
            if number == len(path) - 1 and isinstance(node, MappingNode):
                return _added(node, key, value)
            raise UnusableParameter(f"{parameter.name}: no {key!r} there{nearest(key, _keys(node))}")
        node = inner
    if isinstance(node, MappingNode | SequenceNode) and not node.flow_style:
        raise UnusableParameter(f"{parameter.name}: has lines of its own; name one of {', '.join(_keys(node))}")
    return _Edit(node.start_mark.index, node.end_mark.index, value)


def _place(root: MappingNode, parameter: Parameter) -> tuple[Node, tuple[str, ...]]:
    """(where to begin, the keys from there on)."""
    if parameter.word in WHOLE:
        return root, (parameter.word, *parameter.keys)
    steps = list(_of_verb(_within(root, "steps"), parameter.word))
    if not steps:
        used = [verb for verb in VERBS if any(_of_verb(_within(root, "steps"), verb))]
        why = "no step" if parameter.word in VERBS else "no verb"
        raise UnusableParameter(f"{parameter.name}: {why} {parameter.word!r} here{nearest(parameter.word, used)}")
    if not parameter.number and len(steps) > 1:
        raise UnusableParameter(f"{parameter.name}: which of them? {_listed(parameter.word, steps)}")
    if parameter.number > len(steps):
        raise UnusableParameter(f"{parameter.name}: there are {len(steps)}: {_listed(parameter.word, steps)}")
    step = steps[max(parameter.number, 1) - 1]
    if not isinstance(step, MappingNode):
        where = f"line {step.start_mark.line + 1}"
        raise UnusableParameter(f"{parameter.name}: {parameter.word} has no value in {where}")
    if parameter.keys[:1] and parameter.keys[0] in AROUND:
        return step, parameter.keys
    verb = _within(step, parameter.word)
    if isinstance(verb, ScalarNode) and parameter.keys:
        raise UnusableParameter(f"{parameter.name}: {parameter.word} has no keys in line {step.start_mark.line + 1}")
    return step, (parameter.word, *parameter.keys)


def _of_verb(steps: Node | None, verb: str) -> Iterator[Node]:
    """As they are written; those of a repetition once."""
    for step in steps.value if isinstance(steps, SequenceNode) else ():
        if (isinstance(step, ScalarNode) and step.value == verb) or _within(step, verb) is not None:
            yield step
        repeated = _within(step, "repeat")
        if repeated is not None:
            yield from _of_verb(_within(repeated, "steps"), verb)


def _within(node: Node | None, key: str) -> Node | None:
    index = number_in(key)
    if isinstance(node, SequenceNode) and index is not None and index < len(node.value):
        item: Node = node.value[index]
        return item
    pairs = node.value if isinstance(node, MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def _keys(node: Node) -> Iterable[str]:
    if isinstance(node, MappingNode):
        return [str(name.value) for name, _ in node.value]
    return [str(number) for number in range(len(node.value))] if isinstance(node, SequenceNode) else ()


def _added(node: MappingNode, key: str, value: str) -> _Edit:
    at = node.start_mark.index
    if node.flow_style:
        return _Edit(at + 1, at + 1, f"{key}: {value}, ")
    return _Edit(at, at, f"{key}: {value}\n{' ' * node.start_mark.column}")


def _one_value(parameter: Parameter) -> str:
    """As it is to stand in the file."""
    _value_node(parameter)
    return parameter.value


def _value_node(parameter: Parameter) -> Node:
    root = None if "\n" in parameter.value else Reader().document(f"[{parameter.value}]\n")
    if not isinstance(root, SequenceNode) or len(root.value) != 1:
        raise UnusableParameter(f"{parameter.name}: {parameter.value!r} is not one value of YAML")
    value: Node = root.value[0]
    return value


def _listed(verb: str, steps: Sequence[Node]) -> str:
    words = []
    for number, step in enumerate(steps[:SHOWN_MAX], start=1):
        value = _within(step, verb)
        shown = f": {value.value}" if isinstance(value, ScalarNode) else ""
        words.append(f"{verb}#{number} (line {step.start_mark.line + 1}{shown})")
    return ", ".join(words) + (f" and {len(steps) - SHOWN_MAX} more" if len(steps) > SHOWN_MAX else "")
