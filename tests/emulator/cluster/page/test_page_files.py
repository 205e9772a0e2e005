"""The page's files: headers, colours, and the page in one file."""

import re

import pytest

from emulator.cluster.page.page_files import POLICY, contents, page_file
from emulator.cluster.page.saved_page import MAIN, PLACEHOLDER, modules_of, one_script
from emulator.cluster.page.static_files import colours, static_files

SCRIPTS = {name: content.decode() for name, content in static_files().items() if name.endswith(".js")}
DEFINITION = re.compile(r"^(?:async )?(?:function|const|class|let) .*", re.MULTILINE)
NAME = re.compile(r"(?:^(?:async )?function |^class |const |let |, (?=[A-Z]))(\w+)(?= =|\(| \{| extends)")
IMPORT_OF_ONE_LINE = re.compile(r'^import \{ .* \} from "\./\w+\.js";$', re.MULTILINE)
STRINGS_TO_LIFE = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|cookie|localStorage"
    r"|https?://(?!www\.w3\.org)"
)
TEXTS, BEHIND = ("ink", "soft", "good", "bad", "unsure", "controls"), ("paper", "card", "lane")
TEXT_CONTRAST, PICTURE_CONTRAST = 4.5, 3.0


def test_a_file_has_its_type_and_headers_that_let_nothing_else_run() -> None:
    for path, kind in (("/", "text/html"), ("/?x=1", "text/html"), ("/page/live_page.js", "text/javascript"),
                       ("/page/colours.css", "text/css"), ("/page/icon.svg", "image/svg+xml")):  # fmt: skip
        reply = page_file("GET", path)
        assert reply is not None and reply.content_type.startswith(kind) and reply.status == 200, path
        headers = dict(reply.headers)
        assert headers["content-security-policy"] == POLICY and headers["x-frame-options"] == "DENY"
        assert not [name for name in headers if name in ("set-cookie", "access-control-allow-origin")]
    assert "unsafe" not in POLICY and "*" not in POLICY and POLICY.startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/"), ("DELETE", "/page/icon.svg"), ("GET", "/v1/status"), ("GET", "/page/"), ("GET", "/page/../x.py"),
        ("GET", "/page/none.js"), ("GET", "//"), ("GET", "http://127.0.0.1/"), ("GET", "/live_page.html"), ("GET", ""),
    ],
)  # fmt: skip
def test_everything_else_needs_the_token(method: str, target: str) -> None:
    assert page_file(method, target) is None


def test_every_script_is_one_that_the_page_needs_and_brings_no_string_to_life() -> None:
    assert sorted(modules_of(SCRIPTS)) == sorted(SCRIPTS) and modules_of(SCRIPTS)[-1] == MAIN
    for name, text in SCRIPTS.items():
        assert not STRINGS_TO_LIFE.search(text), name
        assert text.count("import ") == len(IMPORT_OF_ONE_LINE.findall(text)), name


def test_the_page_in_one_file_has_every_module_once_and_no_name_twice() -> None:
    script = one_script(SCRIPTS)
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    names = [name for line in DEFINITION.findall(script) for name in NAME.findall(line)]
    assert {"SVG", "Keyed", "MAP_WIDTH", "ARC", "follow", "once", "SILENT_MS"} <= set(names)
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)
    saved = contents()["saved_page.html"].decode()
    assert saved.index(PLACEHOLDER) < saved.index("<script>") and "</script" not in script and "<!--" not in script


def test_every_text_has_a_contrast_of_4_5_in_both_themes() -> None:
    for theme in colours().split("@media"):
        colour = dict(re.findall(r"--(\w+): (#\w{6})", theme))
        for behind in BEHIND:
            for text in TEXTS:
                assert contrast(colour[text], colour[behind]) >= TEXT_CONTRAST, (text, behind)
            for epoch in ("e0", "e1", "e2", "e3", "fault"):
                assert contrast(colour[epoch], colour[behind]) >= PICTURE_CONTRAST, (epoch, behind)


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
