"""A YAML document as positioned nodes, read field by field; collects all errors.

Reading never stops at an error: a reader records its line and column and returns None (or a default). So one pass finds
all errors. Texts keep their spelling: `2.10` stays `2.10`.
"""

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

T = TypeVar("T")
W = TypeVar("W", bound=str)
_DEEP = re.compile(r"(?:[\[{]\s*+){100}")
_DIRECTIVE = re.compile(r"^%YAML[ \t]+(?!1\.[12]\s*$)", re.MULTILINE)
_SURROGATE = re.compile("[\ud800-\udfff]")

MAX_TEXT_BYTES = 1024 * 1024
MAX_NODES = 100_000
"""Aliases count each time they are used."""

MAX_PROBLEMS = 100
NUMBER_MAX = 1e15
"""Of a number without a bound of its own. `1e999` is infinite."""
WHOLE_MAX = 2**31 - 1
"""Of a whole number without a bound of its own: Kafka's int."""
SECONDS_MAX = WHOLE_MAX / 1000.0
"""Of a time in seconds: in milliseconds it is Kafka's int."""
DIGITS_MAX = 100
"""Of a whole number. Python takes quadratic time for more, and refuses to print 4,300."""
SHOWN_MAX = 80
"""Characters of the file that a message repeats."""


class Problem(msgspec.Struct, frozen=True, order=True):
    """Line and column count from 1."""

    line: int
    column: int
    message: str


class ScenarioErrors(ValueError):
    """Everything that is wrong with a scenario file, in the order of the file: one line each."""

    def __init__(self, name: str, problems: Iterable[Problem]) -> None:
        self.name = name
        self.problems = sorted(set(problems))
        super().__init__("\n".join(f"{name}:{p.line}:{p.column}: {p.message}" for p in self.problems))

    def __reduce__(self) -> tuple[type["ScenarioErrors"], tuple[str, list[Problem]]]:
        """Pickle with all arguments.

        Otherwise it is pickled by its text alone, and a pool that cannot read its worker's error waits for ever.
        """
        return type(self), (self.name, self.problems)


def shown(text: object) -> str:
    """As Python writes it, cut where it is longer than a line."""
    written = repr(text)
    return written if len(written) <= SHOWN_MAX else f"{written[: SHOWN_MAX - 3]}..."


def nearest(word: str, words: Iterable[str]) -> str:
    """`; nearest: produce`, or `; one of: a, b` where there are few, or nothing."""
    known = list(words)
    close = difflib.get_close_matches(word[:SHOWN_MAX], known, n=1, cutoff=0.55)
    close = close or [one for one in known if word and one.startswith(word)]
    if close:
        return f"; nearest: {close[0]}"
    return f"; one of: {', '.join(known)}" if 0 < len(known) <= 12 else ""


class Reader:
    """Reads nodes of one document and collects problems."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._nodes = 0

    # --- the whole ---

    def document(self, text: str) -> Node | None:
        """The root node; None if the text is no YAML document (the problem is noted)."""
        if len(text.encode()) > MAX_TEXT_BYTES:
            self._note(1, 1, f"larger than {MAX_TEXT_BYTES} bytes")
            return None
        if _DEEP.search(text):  # the parser would take minutes to find out
            self._note(1, 1, "nested too deep")
            return None
        if directive := _DIRECTIVE.search(text):  # the parser ends with a KeyError at a version that it does not know
            self._note(text.count("\n", 0, directive.start()) + 1, 1, "not YAML: 1.1 and 1.2 are the versions")
            return None
        try:
            root = YAML(typ="safe", pure=True).compose(text)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
            self._note(line, column, f"not YAML: {error.problem or error.context}")
            return None
        except YAMLError as error:
            self._note(1, 1, f"not YAML: {' '.join(str(error).split())}")
            return None
        except RecursionError:
            self._note(1, 1, "nested too deep")
            return None
        if root is None:
            self._note(1, 1, "empty")
        return root if root is not None and self._bounded(root) else None

    def _bounded(self, root: Node) -> bool:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            self._nodes += 1
            if self._nodes > MAX_NODES:
                self.problem(root, f"more than {MAX_NODES} values")
                return False
            if isinstance(node, MappingNode):
                for key, value in node.value:
                    if not isinstance(key, ScalarNode):
                        self.problem(key, f"expected a word as key, got {kind(key)}")
                        return False
                    waiting += (key, value)
            elif isinstance(node, ScalarNode) and _SURROGATE.search(node.value):
                self.problem(node, f"{shown(node.value)} is no text: it has half of a surrogate pair")
                return False
            elif isinstance(node, SequenceNode):
                waiting.extend(node.value)
        return True

    def problem(self, node: Node, message: str) -> None:
        self._note(node.start_mark.line + 1, node.start_mark.column + 1, message)

    def _note(self, line: int, column: int, message: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(line, column, message))

    # --- containers ---

    def pairs(self, node: Node, what: str) -> list[tuple[str, ScalarNode, Node]]:
        """(key, its node, value) of a mapping; a key given twice is a problem."""
        if not isinstance(node, MappingNode):
            self.problem(node, f"expected {what} as keys with values, got {kind(node)}")
            return []
        found: dict[str, tuple[str, ScalarNode, Node]] = {}
        for key, value in node.value:
            if key.value in found:
                self.problem(key, f"{shown(key.value)} is given twice")
            else:
                found[key.value] = (key.value, key, value)
        return list(found.values())

    def fields(self, node: Node, what: str, known: Iterable[str], required: Iterable[str] = ()) -> dict[str, Node]:
        """Values by key. Unknown keys, and required ones that are missing, are problems."""
        known = list(known)
        pairs = self.pairs(node, what)
        for key, key_node, _ in pairs:
            if key not in known:
                self.problem(key_node, f"unknown key {shown(key)} in {what}{nearest(key, known)}")
        if isinstance(node, MappingNode):
            given = {key for key, _, _ in pairs}
            for key in required:
                if key not in given:
                    self.problem(node, f"{what} needs {key!r}")
        return {key: value for key, _, value in pairs if key in known}

    def items(self, node: Node, what: str, *, single: bool = False) -> list[Node]:
        """Elements of a list. `single`: one value may stand without brackets."""
        if isinstance(node, SequenceNode):
            return list(node.value)
        if single and isinstance(node, ScalarNode) and not is_null(node):
            return [node]
        self.problem(node, f"expected a list of {what}, got {kind(node)}")
        return []

    def each(self, node: Node, what: str, read: Callable[[Node], T | None], *, single: bool = False) -> tuple[T, ...]:
        read_ones = [read(item) for item in self.items(node, what, single=single)]
        return tuple(one for one in read_ones if one is not None)

    # --- leaves ---

    def text(self, node: Node, what: str = "a text") -> str | None:
        """As written, whatever it looks like."""
        if isinstance(node, ScalarNode) and not is_null(node):
            return str(node.value)
        self.problem(node, f"expected {what}, got {kind(node)}")
        return None

    def bounded_text(self, node: Node, what: str, low: int, high: int) -> str | None:
        """Of so many characters."""
        given = self.text(node, what)
        if given is not None and not low <= len(given) <= high:
            self.problem(node, f"expected {what} of {low} to {high} characters, got {len(given)}")
            return None
        return given

    def word(self, node: Node, what: str, words: Iterable[W]) -> W | None:
        """One of `words`."""
        known = {str(word): word for word in words}
        given = self.text(node, what)
        if given is not None and given not in known:
            self.problem(node, f"unknown {what} {shown(given)}{nearest(given, known)}")
        return None if given is None else known.get(given)

    def integer(self, node: Node, what: str, low: int = 0, high: int = WHOLE_MAX) -> int | None:
        value = plain(node)
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(node, f"expected {what} as a whole number, got {kind(node)}")
            return None
        if not low <= value <= high:
            bounds = f"at least {low}" if value < low and high == WHOLE_MAX else f"{low} to {high}"
            self.problem(node, f"expected {what} as a whole number, {bounds}, got {value}")
            return None
        return value

    def number(self, node: Node, what: str, low: float = 0, high: float | None = None) -> float | None:
        value = plain(node)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.problem(node, f"expected {what} as a number, got {kind(node)}")
            return None
        most = NUMBER_MAX if high is None else high
        if not low <= value <= most:
            bounds = f"at least {low:g}" if value < low and high is None else f"{low:g} to {most:.10g}"
            self.problem(node, f"expected {what} as a number, {bounds}, got {value:g}")
            return None
        return value

    def truth(self, node: Node, what: str) -> bool | None:
        value = plain(node)
        if not isinstance(value, bool):
            self.problem(node, f"expected {what} as true or false, got {kind(node)}")
            return None
        return value


def plain(node: Node) -> Any:
    """The node as plain values: YAML 1.2's numbers and truths, else texts."""
    if isinstance(node, MappingNode):
        return {plain(key): plain(value) for key, value in node.value}
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.value]
    text = str(node.value)
    match str(node.tag).rpartition(":")[2]:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return text if len(text) > DIGITS_MAX else _number(text, lambda t: int(t.replace("_", ""), 0))
        case "float":
            return _number(text, lambda t: float(t.replace("_", "")))
        case _:
            return text


def _number(text: str, read: Callable[[str], int | float]) -> int | float | str:
    try:
        return read(text)
    except ValueError:
        return text  # `.inf`, `010`: no number of ours


def is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and str(node.tag).endswith(":null")


def kind(node: Node) -> str:
    """Kind of a node, for a message."""
    if isinstance(node, MappingNode):
        return "keys with values"
    if isinstance(node, SequenceNode):
        return f"a list of {len(node.value)}"
    return "nothing" if is_null(node) else shown(str(node.value))
