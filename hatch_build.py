"""Hooks of the build: data files of the wheel, and the page of the package index.

`emulator.packaged` finds the data. They are no table of hatch's own (`force-include`), for that
is copied into the virtual environment of an editable installation as well, where it is unused and becomes outdated.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!https?://|mailto:|#)(?P<path>[^)\s]+)\)")


class PackageData(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `package-data` of the hook's table in pyproject.toml.

    `package-data`: {file or folder of the tree: path in the wheel}.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"].update(self.config["package-data"])


class IndexPage(MetadataHookInterface):
    """Sets README.md as the long description, with links that a package index can follow."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        page = absolute_links(text, metadata["urls"]["Source"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": page}


def absolute_links(markdown: str, repository: str, version: str) -> str:
    """The text with links to files of the release's tag.

    A version in development has `main` instead.
    """
    at = "main" if ".dev" in version else f"v{version}"

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found["image"] else "blob"
        return f"{found['image']}[{found['text']}]({repository}/{kind}/{at}/{found['path']})"

    return RELATIVE_LINK.sub(link, markdown)
