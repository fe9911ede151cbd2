#!/bin/sh
# All that must be there before Tileport's own Python can run: Debian packages and .venv. Called by make; safe to
# call again. Everything later (Rust, a Docker engine, images) is found or made by `tileport` itself.
set -eu
cd "$(dirname "$0")/.."

packages="git gcc g++ libc6-dev libclang-dev make python3 python3-venv util-linux docker.io iptables debootstrap postgresql"
missing=""
if command -v dpkg-query >/dev/null; then
    for package in $packages; do
        dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
    done
    # A Docker engine from elsewhere (docker-ce, a remote one) serves as well as Debian's.
    if docker info >/dev/null 2>&1; then missing=$(echo "$missing" | sed 's/ docker\.io//; s/ iptables//'); fi
else
    echo "This is not Debian or Ubuntu. Needed: $packages (under your system's names)." >&2
fi
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ]; then
        echo "Installing:$missing"
        apt-get update -qq
        # Without --no-install-recommends docker.io brings a desktop's worth; without a policy its daemon would start.
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
    else
        echo "Missing Debian packages. Install them and run make again:" >&2
        echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
fi

python=""
for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "Python 3.11, 3.12 or 3.13 with the venv module is needed. Set PYTHON=/path/to/it and run make again." >&2
    exit 1
fi
[ -x .venv/bin/python ] || "$python" -m venv .venv

stamp=.venv/installed
wanted=$(cat requirements.lock pyproject.toml | sha256sum)
if [ "$(cat $stamp 2>/dev/null)" != "$wanted" ]; then
    echo "Installing Python packages (some gigabytes, once)"
    uv=$(sed -n 's/^uv==\([0-9.]*\).*/uv==\1/p' requirements.lock)
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "$uv"
    .venv/bin/uv pip sync --quiet --require-hashes --python .venv/bin/python requirements.lock
    .venv/bin/uv pip install --quiet --no-deps --no-build-isolation --python .venv/bin/python -e .
    echo "$wanted" > $stamp
fi
