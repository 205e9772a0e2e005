#!/usr/bin/env bash
# The one image of every service, by default faultline:dev: `compose/build.sh`.
#
# It stands on FAULTLINE_BASE if that is set; else on a base that compose/build-base.sh made here for these very
# dependencies; else on the public Python image; and where no registry has that, on a base that is made now.
# FAULTLINE_AUDIT=no leaves out Java and Spark, which are most of it.
#
# From an installed wheel it is made of the installed packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
image=${FAULTLINE_IMAGE:-faultline:dev}
audit=${FAULTLINE_AUDIT:-yes}
public=python:3.11-slim-bookworm
own=faultline-base:$({ cat constraints.txt compose/build-base.sh; python3 compose/requirements.py pyproject.toml "$audit"; } | sha256sum | cut -c-12)
pull_limit_s=300

present() { docker image inspect "$1" >/dev/null 2>&1; }

base=${FAULTLINE_BASE:-}
if [ -z "$base" ]; then
  if present "$own"; then
    base=$own
  elif present "$public" || pulled=$(timeout "$pull_limit_s" docker pull --quiet "$public" 2>&1); then
    base=$public
  else
    echo "docker pull $public: ${pulled:-nothing within $pull_limit_s s}" >&2
    echo "so a base is made from Debian's packages, which takes minutes, root and debootstrap" >&2
    compose/build-base.sh "$own" "$audit"
    base=$own
  fi
fi
build=(docker build --build-arg BASE="$base" --build-arg AUDIT="$audit" --file compose/Dockerfile --tag "$image")
[ ! -d emulator ] || exec "${build[@]}" .

# In a wheel this folder is emulator/data: what the tree has below it is put together.
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
mkdir "$context/compose"
cp constraints.txt pyproject.toml "$context"
cp compose/requirements.py "$context/compose"
tar --create --directory ../.. --exclude __pycache__ protocol controller emulator audit | tar --extract --directory "$context"
"${build[@]}" "$context"
