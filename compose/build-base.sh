#!/usr/bin/env bash
# A base for compose/Dockerfile from Debian's packages and this machine's pip alone, for machines without an image
# registry: `compose/build-base.sh IMAGE [yes|no]`; compose/build.sh calls it. Needs root and debootstrap.
#
# It has Python, Java, kcat and the Python packages of the project: a container may have no way to the package index, or
# not trust the proxy that this machine trusts. The Dockerfile then finds everything installed. `no`: without Java and
# Spark, for machines that audit elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
image=${1:?the name of the image}
audit=${2:-yes}
# This machine's CA certificates, for pip in the image; the image does not keep them.
certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}

[ "$(id -u)" = 0 ] || { echo "$0 needs root: debootstrap makes devices and changes its root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "$0 needs debootstrap: apt-get install debootstrap" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

packages=ca-certificates,python3,python3-venv,kcat
[ "$audit" = no ] || packages+=,openjdk-17-jre-headless
debootstrap --variant=minbase --include="$packages" \
  bookworm "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/log" || { tail "$work/log" >&2; exit 1; }

cp constraints.txt compose/requirements.py pyproject.toml "$root/tmp"
cp "$certificates" "$root/tmp/certificates"
chroot "$root" env --unset=REQUESTS_CA_BUNDLE --unset=CURL_CA_BUNDLE PIP_CERT=/tmp/certificates AUDIT="$audit" sh -euc '
  cd /tmp
  python3 requirements.py pyproject.toml "$AUDIT" > requirements.txt
  python3 -m venv /opt/faultline
  /opt/faultline/bin/pip install --quiet --no-cache-dir --use-pep517 \
    --constraint constraints.txt --requirement requirements.txt
'

rm -rf "$root"/tmp/* "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* \
  "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/locale/*
tar --create --numeric-owner --directory "$root" . | docker import --change 'CMD ["bash"]' - "$image" >/dev/null
echo "$image: $(docker image inspect --format '{{.Size}}' "$image" | numfmt --to=si)B"
