"""What a wheel has beside the packages: what comes with faultline, as `emulator.packaged` finds it.

Not a table of hatch's own (`force-include`), for that is copied into the virtual environment of an editable
installation as well, where nobody reads it and it grows old.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackageData(BuildHookInterface):  # type: ignore[type-arg]
    """`package-data` of the hook's table in pyproject.toml: {file or folder of the tree: where in the wheel}."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"].update(self.config["package-data"])
