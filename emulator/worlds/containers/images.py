"""Images of containers, checked before anything is made."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from emulator.packaged import BUILD_IMAGE
from emulator.run_layout import shown
from emulator.worlds.containers.tool import DockerFailed, DockerMissing, compose, image_exists

IMAGE: Final = "faultline:dev"
CONFIG_LIMIT_S: Final = 20.0
FETCHED: Final = ("always", "missing", "if_not_present", "daily", "weekly")
"""Pull policies with which the engine fetches a service's image."""


def require_image() -> None:
    """Check the image of our compose files. Raises DockerMissing."""
    image = our_image()
    if not image_exists(image):
        raise DockerMissing(f"there is no image {image}: {BUILD_IMAGE} makes it")


def require_images(file: Path, nodes: Sequence[str]) -> None:
    """Check the images of these services in a compose file. Raises DockerMissing, DockerFailed."""
    named = _images_of(file, nodes)
    for image in dict.fromkeys(named.values()):
        if image_exists(image):
            continue
        services = [service for service, its in named.items() if its == image]
        others = f" and {len(services) - 1} more" if len(services) > 1 else ""
        raise DockerMissing(f"{shown(file)}: service {services[0]}{others}: no image {image}; {_how(image)}")


def _images_of(file: Path, nodes: Sequence[str]) -> dict[str, str]:
    """{service: its image}, as the compose tool reads the file.

    Raises DockerMissing, DockerFailed.

    Services whose image is fetched are left out.
    """
    text = compose("--file", str(file), "--project-name", "faultline", "config", limit_s=CONFIG_LIMIT_S)
    try:
        services: dict[str, dict[str, Any]] = YAML(typ="safe", pure=True).load(text)["services"]
    except (YAMLError, KeyError, TypeError) as error:
        why = f"the compose tool's `config` has no services: {error!r}"
        raise DockerFailed(f"{shown(file)}: {why}") from None
    own = {node: services[node] for node in nodes if node in services}
    return {
        node: str(service["image"])
        for node, service in own.items()
        if service.get("image") and service.get("pull_policy") not in FETCHED
    }


def our_image(environ: Mapping[str, str] = os.environ) -> str:
    """The image of our compose files: ${FAULTLINE_IMAGE:-...}."""
    return environ.get("FAULTLINE_IMAGE") or IMAGE


def _how(image: str) -> str:
    if image == our_image():
        return f"{BUILD_IMAGE} makes it"
    word = shlex.quote(image)
    return f"FAULTLINE_IMAGE={word} {BUILD_IMAGE} makes one of that name, docker pull {word} fetches one"
