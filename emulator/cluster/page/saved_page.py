"""The page in one file: one script, style sheets, and a place for a recording. Pure.

The script is the modules in the order of their imports, without `import` and `export`. So each of their names is
unique, and an import is one line (a test checks both). The file's Content-Security-Policy names the digests of script
and style.
"""

import re
from collections.abc import Mapping
from typing import Final

from emulator.html_file import html_file

MAIN: Final = "live_page.js"
STYLES: Final = ("colours.css", "live_page.css")
PLACEHOLDER: Final = '<i hidden id="recording-place"></i>'
_IMPORT: Final = re.compile(r'^import \{[^}\n]*\} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=async function|function|const|class)", re.MULTILINE)


def saved_page(contents: Mapping[str, bytes]) -> str:
    """The page with a place for the recording. `contents`: {name: content} of the page's files."""
    texts = {name: content.decode() for name, content in contents.items()}
    style = "\n".join(texts[name] for name in STYLES)
    return html_file("faultline", PLACEHOLDER, style=style, script=one_script(texts))


def one_script(texts: Mapping[str, str]) -> str:
    """All modules as a script without imports."""
    parts = [_EXPORT.sub("", _IMPORT.sub("", texts[name])) for name in modules_of(texts)]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "\n})();\n"


def modules_of(texts: Mapping[str, str], name: str = MAIN) -> list[str]:
    """Names of the modules that a module needs, each after those that it imports."""
    found: dict[str, None] = {}
    for imported in _IMPORT.findall(texts[name]):
        found |= dict.fromkeys(modules_of(texts, imported))
    return [*found, name]
