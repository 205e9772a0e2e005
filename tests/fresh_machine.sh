#!/usr/bin/env bash
# What a newcomer does, on a machine that has Python and make and no Java: clone, `make demo`, and with `test` as the
# argument `make test`. Takes minutes and downloads everything, so it is run by hand: `make check-fresh`.
# Prints how long each step took; ends with the first code that is not 0. A verdict that is unknown (3) because the
# machine was busy is one of those.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$(readlink -f "$(command -v "${PYTHON:-python3}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A PATH of links to everything but Java; what is set for Java elsewhere is unset.
mkdir "$work/bin"
IFS=: read -ra folders <<<"$PATH"
for folder in "${folders[@]}"; do
    for program in "$folder"/*; do
        name=${program##*/}
        case $name in
            java | javac | jar | java-* | spark-* | pyspark) continue ;;
        esac
        if [[ -x $program && ! -e $work/bin/$name ]]; then ln -s "$program" "$work/bin/$name"; fi
    done
done
rm -f "$work/bin/python3"
printf '#!/bin/sh\nexec %q "$@"\n' "$python" >"$work/bin/python3"
chmod +x "$work/bin/python3"
unset JAVA_HOME JDK_HOME SPARK_HOME VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHON
export PATH=$work/bin
if command -v java >/dev/null; then
    echo "java is still on PATH: $(command -v java)" >&2
    exit 2
fi

step() {
    local began=$SECONDS
    "$@" </dev/null
    echo "== $* took $((SECONDS - began)) s"
}

step git clone --quiet "$root" "$work/clone"
cd "$work/clone"
step make demo
step make demo
report=$(echo runs/*/report.html)
[[ -s ${report%% *} ]] || { echo "there is no report.html" >&2; exit 1; }
if [[ ${1:-} == test ]]; then step make test; fi
if [[ -n $(git status --porcelain) ]]; then
    echo "the clone has files that git does not know or ignore:" >&2
    git status --short >&2
    exit 1
fi
