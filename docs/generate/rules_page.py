"""docs/rules.md: each rule of the two pages of semantics, its modules and its tests.

A rule is a heading with a number, `### 1.5 High watermark`. A docstring names it as "semantics 1.5", in
docs/kraft-semantics.md as "kraft-semantics 1.5"; "semantics 1.2, 1.9" and "semantics 1.3 to 1.5" name several. There a
row of a table has a number, too, and stands for its section. A docstring of a module or class stands for all of it.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from docs.generate.markdown_tables import code, notice, table
from docs.generate.uses import modules
from emulator.judging.fuzzing.rule_references import Page, cited

_HEADING = re.compile(r"^#{2,3} (\d+(?:\.\d+)?)\.? (.+)$")
_ROW = re.compile(r"^\| (\d+(?:\.\d+)+) \|", re.MULTILINE)
_NOT_YET = "**Not yet:**"
_NOT_BUILT = "not built"
_PATH = re.compile(r"`([a-z_/]+\.py)`")
_MAY_NAME = re.compile(r"semantics(\.md)?\s+\d", re.IGNORECASE)
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

_HEAD = """# Rules and their tests

Each rule of [semantics.md](semantics.md), with the modules that it names or that name it, and the tests whose
docstrings name it. *Not yet* counts the rule's statements that are not modelled. Tests name {named} of {all} rules.

A test counts for a rule only if its docstring names the rule. With an empty cell no test does.
"""
_KRAFT_HEAD = """## KRaft mode

Each section of [kraft-semantics.md](kraft-semantics.md), in the same way. A docstring that names a row counts for the
row's section. *Not yet* counts the statements that are not built. Tests name {named} of {all} sections.
"""


class Rule(msgspec.Struct, frozen=True):
    """A rule.

    `number` "1.5"; `anchor`: of its heading; `not_yet`: statements that begin with **Not yet:** or are not built;
    `modules`: those that its section names.
    """

    number: str
    title: str
    anchor: str
    not_yet: int = 0
    modules: tuple[str, ...] = ()


def rules_of(text: str) -> dict[str, Rule]:
    """{number: rule} of a document, in its order.

    A chapter with numbered sections is no rule of its own.
    """
    found: dict[str, Rule] = {}
    for line in text.splitlines():
        if match := _HEADING.match(line):
            number, title = match.groups()
            found[number] = Rule(number, title, anchor(line.lstrip("# ")))
        elif found:
            last = next(reversed(found))
            rule = found[last]
            found[last] = msgspec.structs.replace(
                rule,
                not_yet=rule.not_yet + line.lstrip("- ").startswith(_NOT_YET) + line.count(_NOT_BUILT),
                modules=(*rule.modules, *_PATH.findall(line)),
            )
    chapters = {number.partition(".")[0] for number in found if "." in number}
    return {number: rule for number, rule in found.items() if number not in chapters}


def rows_of(text: str) -> set[str]:
    """Numbers of the rows in a document's tables."""
    return set(_ROW.findall(text))


def section_of(number: str, rules: Container[str]) -> str:
    """The rule that a number stands for: itself, or the section that has its row."""
    while number not in rules and "." in number:
        number = number.rpartition(".")[0]
    return number


def anchor(heading: str) -> str:
    """Anchor of a heading: lower case, blanks as hyphens, punctuation dropped."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


@cache
def citations(path: Path, page: Page = "semantics") -> Mapping[str, set[str]]:
    """{rule of a page: names of the functions and classes whose docstrings name it}.

    "" is the module itself.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, docstring in _docstrings_of_rules(path):
        for rule in cited(docstring, page):
            found[rule].add(name)
    return found


@cache
def _docstrings_of_rules(path: Path) -> tuple[tuple[str, str], ...]:
    """(name, docstring) of each function and class whose docstring may name a rule.

    A module without that word is not parsed: most have none, and parsing costs most of a page's time.
    """
    text = path.read_text(encoding="utf-8")
    if not _MAY_NAME.search(text):
        return ()
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, _WITH_DOCSTRING))
    named = (("" if isinstance(node, ast.Module) else node.name, ast.get_docstring(node) or "") for node in nodes)
    return tuple((name, " ".join(text.split())) for name, text in named if _MAY_NAME.search(text))


def page(root: Path) -> str:
    parts = [notice("docs/semantics.md, docs/kraft-semantics.md and docstrings")]
    heads: tuple[tuple[Page, str], ...] = (("semantics", _HEAD), ("kraft-semantics", _KRAFT_HEAD))
    for name, head in heads:
        parts.extend(_of_document(root, name, head))
    return "\n".join(parts)


def _of_document(root: Path, name: Page, head: str) -> Iterator[str]:
    """The part of one document. `head` has places for the counts of named rules and of all."""
    rules = rules_of((root / "docs" / f"{name}.md").read_text(encoding="utf-8"))
    in_code = _by_rule(root, modules(root), name, rules)
    in_tests = _by_rule(root, modules(root, ("tests",)), name, rules)
    rows = []
    for number, rule in rules.items():
        sources = {place.partition("::")[0] for place in in_code[number]} | set(rule.modules)
        rows.append(
            (
                f"[{number}]({name}.md#{rule.anchor})",
                rule.title,
                rule.not_yet or "",
                ", ".join(code(path) for path in sorted(sources)),
                ", ".join(_grouped(sorted(in_tests[number]))),
            )
        )
    blank = [number for number in rules if not in_tests[number]]
    yield head.format(named=len(rules) - len(blank), all=len(rules))
    yield table(("rule", "title", "not yet", "modules", "tests"), rows)
    if blank:
        yield f"Named by no test: {', '.join(blank)}.\n"


def _by_rule(root: Path, paths: Iterable[Path], page: Page, rules: Container[str]) -> defaultdict[str, set[str]]:
    """{rule: {"path::name"}}; the path alone where the module's docstring names it."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        shown = path.relative_to(root).as_posix()
        for number, names in citations(path, page).items():
            found[section_of(number, rules)] |= {f"{shown}::{name}" if name else shown for name in names}
    return found


def _grouped(places: list[str]) -> Iterator[str]:
    """One entry per file: the file alone if its docstring names the rule, else its tests."""
    by_file: defaultdict[str, list[str]] = defaultdict(list)
    for place in places:
        path, _, name = place.partition("::")
        by_file[path].append(name)
    for path, names in by_file.items():
        yield code(path) if "" in names else f"{code(path)}: {', '.join(code(name) for name in names)}"
