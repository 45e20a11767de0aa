#!/usr/bin/env bash
# Installs the Debian packages named in the given lists that are missing: as root, or through sudo. Where neither works
# it names them and stops with status 1.
set -euo pipefail

missing=()
for package in $(grep -hv '^#' "$@"); do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "Installing: ${missing[*]}" >&2
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null || ! sudo -v; then
    echo "Missing Debian packages: ${missing[*]}" >&2
    echo "Install them (apt-get install ${missing[*]}) and run this again." >&2
    exit 1
  fi
  as_root=(sudo)
fi
if ! "${as_root[@]}" apt-get update -qq ||
   ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
  echo "Could not install: ${missing[*]}" >&2
  exit 1
fi
