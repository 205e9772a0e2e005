"""A self-contained HTML file. Pure.

It has digests of its script and style, so no browser runs code from a record.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape


def policy_of(style: str, script: str) -> str:
    """A Content-Security-Policy with only this style and this script.

    Nothing external, and no style attributes.
    """
    return f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; base-uri 'none'"


def html_file(title: str, body: str, *, style: str, script: str) -> str:
    """`body` is HTML, the title is not."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy_of(style, script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>{style}</style></head>\n"
        f"<body>{body}\n<script>{script}</script></body></html>\n"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
