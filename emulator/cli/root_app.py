"""The application that every command is registered on.

Commands are registered on it directly. For each command line, cyclopts imports all commands of a flattened application
(`name="*"`), which took longer than most commands.
"""

from cyclopts import App, Parameter

from emulator.cli.plain_values import require_plain
from emulator.compiled_modules import look as look_for_compiled
from emulator.packaged import installed_version


def _version() -> str:
    """The installed version, marked `compiled` where commands that simulate use native code."""
    return f"{installed_version()}, compiled" if look_for_compiled().usable else installed_version()


app = App(
    name="faultline",
    help="An emulator of Kafka's replication, for fault injection. It contains no Kafka code.",
    version=_version,
    version_flags=["--version"],
    default_parameter=Parameter(validator=require_plain, json_list=False, json_dict=False),
    suppress_keyboard_interrupt=False,
)
