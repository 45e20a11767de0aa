"""Validates result files against a JSON Schema: validate.py SCHEMA RESULT...; NaN and infinity are refused."""

import json
import sys

import jsonschema


def refuse(word):
    raise ValueError(word + " is not JSON")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_constant=refuse)


schema = read(sys.argv[1])
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
failures = 0
for path in sys.argv[2:]:
    for error in validator.iter_errors(read(path)):
        failures += 1
        print(f"{path}: {error.json_path}: {error.message[:300]}")
sys.exit(1 if failures else 0)
