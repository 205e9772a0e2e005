"""Checks of a release's texts and files: version, changelog, metadata, contents. Pure.

Each returns its problems, one line each; none: the check holds.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

PACKAGES: Final = frozenset({"faultline", "protocol", "controller", "emulator", "audit", "pyspark_faultline"})
DATA: Final = ("scenarios/", "golden/", "compose/", "constraints.txt", "pyproject.toml")
"""Below `emulator/data` of the wheel, nothing else."""
UNWANTED: Final = re.compile(r"(^|/)(__pycache__|\.\w)|\.py[co]$")
HEADING: Final = re.compile(r"^## +(.+?) *$", re.MULTILINE)
LINK: Final = re.compile(r"\]\((?P<target>[^)\s]+)\)")
FENCE: Final = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
PYTHONS: Final = "Programming Language :: Python :: "


def version_problems(project: Mapping[str, Any], plugin: Mapping[str, Any], tags: Collection[str]) -> Iterator[str]:
    """Problems of the version.

    `project`, `plugin`: table `project` of the two pyproject.toml files. `tags`: of git.
    """
    text = project["version"]
    try:
        version = Version(text)
    except InvalidVersion:
        yield f"version {text}: not a version as PEP 440 defines it"
        return
    if version.is_devrelease or version.local:
        yield f"version {text}: in development; set the release's version in both pyproject.toml files"
    if f"v{text}" in tags:
        yield f"version {text}: the tag v{text} exists; set a later version"
    yield from plugin_problems(project, plugin)


def plugin_problems(project: Mapping[str, Any], plugin: Mapping[str, Any]) -> Iterator[str]:
    """Differences between the metadata of the main distribution and of the one for pytest."""
    wanted = f"{project['name']}[pytest]=={project['version']}"
    if plugin["dependencies"] != [wanted]:
        yield f"{plugin['name']}: requires {', '.join(plugin['dependencies'])}; set {wanted}"
    for name in ("version", "license", "requires-python"):
        if plugin[name] != project[name]:
            yield f"{plugin['name']}: {name} is {plugin[name]}; set {project[name]}"
    pythons, own = ([one for one in of["classifiers"] if one.startswith(PYTHONS)] for of in (project, plugin))
    if pythons != own:
        yield f"{plugin['name']}: classifiers of Python differ from those of {project['name']}"
    if plugin["urls"]["Source"] != project["urls"]["Source"]:
        yield f"{plugin['name']}: Source is {plugin['urls']['Source']}; set {project['urls']['Source']}"


def changelog_problems(changelog: str, version: str) -> Iterator[str]:
    """The first section must be the release's, as `## 1.2.0` or `## 1.2.0 (2026-11-30)`."""
    headings = HEADING.findall(changelog)
    if not headings:
        yield "CHANGELOG.md: has no section"
    elif headings[0].partition(" ")[0] != version:
        yield f"CHANGELOG.md: the first section is {headings[0]!r}; name it {version}"


def source_problems(source: str, remote: str) -> Iterator[str]:
    """Difference between the metadata's repository and git's.

    `remote`: the URL of origin, "" without one.
    """
    if not remote:
        yield f"git has no remote `origin` to compare with Source = {source}"
    elif _repository(remote) != _repository(source):
        yield f"Source = {source}, but git's origin is {remote}; set the URLs of both pyproject.toml files"


def _repository(url: str) -> str:
    """host/owner/name of a URL of git, whatever its scheme."""
    return re.sub(r"^\w+://(\w+@)?|^\w+@", "", url).replace(":", "/").removesuffix("/").removesuffix(".git").lower()


def metadata_problems(metadata: bytes, known_classifiers: Collection[str]) -> Iterator[str]:
    """Problems of a METADATA file.

    `known_classifiers`: those that a package index accepts.
    """
    try:
        read = Metadata.from_email(metadata, validate=True)
    except ExceptionGroup as invalid:
        yield from (f"metadata: {error}" for error in invalid.exceptions)
        return
    yield from (f"classifier {one!r}: unknown" for one in read.classifiers or () if one not in known_classifiers)
    text = FENCE.sub("", read.description or "")
    if read.description_content_type != "text/markdown" or not text.strip():
        yield "long description: is not README.md as text/markdown"
    for found in LINK.finditer(text):
        if not found["target"].startswith(("https://", "mailto:", "#")):
            yield f"long description: link {found['target']} leads nowhere on a package index"
    for name in sorted({"Source"} - {*(read.project_urls or {})}):
        yield f"metadata: has no URL {name}"
    for requirement in read.requires_dist or ():
        if requirement.url:
            yield f"requirement {requirement.name}: a package index refuses the address {requirement.url}"


def wheel_problems(names: Collection[str], packages: Collection[str], data: Collection[str] = DATA) -> Iterator[str]:
    """Missing and superfluous files of a wheel.

    `names`: its files; `packages`: its folders of code.
    """
    about = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    tops = {name.partition("/")[0] for name in names} - {name.partition("/")[0] for name in about}
    yield from (f"wheel: has {one}, which is no package of it" for one in sorted(tops - {*packages}))
    yield from (f"wheel: lacks the package {one}" for one in sorted({*packages} - tops))
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in about):
        yield "wheel: lacks LICENSE"
    yield from (f"wheel: has {name}" for name in sorted(names) if UNWANTED.search(name))
    if packages:
        below = {name.removeprefix("emulator/data/") for name in names if name.startswith("emulator/data/")}
        yield from (f"wheel: lacks emulator/data/{one}" for one in data if not any(n.startswith(one) for n in below))
        for name in sorted(below):
            if not name.startswith(tuple(data)):
                yield f"wheel: has emulator/data/{name}, which no command reads"


def requirement_problems(requires: Collection[str], constraints: str) -> Iterator[str]:
    """Requirements without an extra whose tested version, of constraints.txt, they exclude."""
    pinned = dict(line.split("==") for line in constraints.splitlines() if "==" in line and not line.startswith("#"))
    tested = {_normal(name): version for name, version in pinned.items()}
    for line in requires:
        wanted = Requirement(line)
        version = tested.get(_normal(wanted.name))
        if version is None:
            yield f"requirement {line}: constraints.txt does not pin it"
        elif not wanted.specifier.contains(version, prereleases=True):
            yield f"requirement {line}: excludes {version}, which constraints.txt pins"


def _normal(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()
