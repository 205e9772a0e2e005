"""Variables in a compose file: syntax of docker-compose 1.29 and the compose specification.

`$NAME` and `${NAME}` ("" when it is not set), `${NAME:-default}` (when unset or empty), `${NAME-default}` (when unset),
`${NAME:?message}` and `${NAME?message}` (an error), `$$` (a dollar).
"""

import re
from collections.abc import Callable, Mapping

_VARIABLE = re.compile(
    r"""\$(?:
        (?P<dollar>\$)
      | (?P<bare>[A-Za-z_][A-Za-z0-9_]*)
      | \{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?:(?P<how>:?[-?])(?P<rest>[^}$]*))?\}
      | (?P<unusable>)
    )""",
    re.VERBOSE,
)


class NotInterpolated(ValueError):
    """A value that cannot be filled in. The message is one line."""


def interpolate(
    text: str, environment: Mapping[str, str], taken: Callable[[str, str], None] = lambda name, value: None
) -> str:
    """Fill in variables. `taken` is called with the name and value of each.

    Raises NotInterpolated.
    """

    def value_of(match: re.Match[str]) -> str:
        if match["dollar"]:
            return "$"
        if match["unusable"] is not None:
            raise NotInterpolated(f"{text!r}: after $ comes NAME, {{NAME}}, {{NAME:-default}} or, for a dollar, $")
        name, how, rest = match["bare"] or match["name"], match["how"] or "-", match["rest"] or ""
        value = environment.get(name)
        if value or (value is not None and ":" not in how):
            taken(name, value)
            return value
        if "?" in how:
            raise NotInterpolated(f"the variable {name} is not set{f': {rest}' if rest else ''}")
        return rest

    return _VARIABLE.sub(value_of, text)
