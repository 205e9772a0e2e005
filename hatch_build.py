"""Build hook that adds data files to the wheel; `emulator.packaged` finds them.

Not a table of hatch's own (`force-include`), for that is copied into the virtual environment of an editable
installation as well, where it is unused and becomes outdated.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackageData(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `package-data` of the hook's table in pyproject.toml.

    `package-data`: {file or folder of the tree: path in the wheel}.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"].update(self.config["package-data"])
