"""Holds records against docs/record.schema.json: schema_test.py REPORT_SAMPLE

They are those that the program REPORT_SAMPLE writes, and the published ones. Also checks that the
schema refuses records that are damaged. Exits 77 without python3-jsonschema.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)


def objects(value):
    """Every object with its keys checked by the schema, wherever it stands in a record."""
    if isinstance(value, dict):
        yield value
        for key, inner in value.items():
            if key not in ("machine", "environment", "details", "factors", "beside"):
                yield from objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


def shortened(value, key=""):
    """The record with at most two elements in a list, and all of its views."""
    if isinstance(value, dict):
        return {k: shortened(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [shortened(v) for v in (value if key == "views" else value[:2])]
    return value


def damaged(record):
    """The record with a key too many, once for each object in it."""
    for place in range(sum(1 for _ in objects(record))):
        copied = copy.deepcopy(record)
        list(objects(copied))[place]["no_such_key"] = 1
        yield copied


def main(report_sample):
    root = pathlib.Path(__file__).parents[2]
    files = sorted(root.glob("tabane/studies/*/published*.json"))
    records = {str(file): json.loads(file.read_text()) for file in files}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([report_sample, folder], check=True)
        for file in sorted(pathlib.Path(folder).glob("*/record.json")):
            records[file.parent.name] = json.loads(file.read_text())
    schema = json.loads((root / "docs/record.schema.json").read_text())
    validator = jsonschema.Draft202012Validator
    validator.check_schema(schema)
    validate = validator(schema)
    failed = not files or len(files) == len(records)
    for file, record in records.items():
        for error in validate.iter_errors(record):
            where = ".".join(map(str, error.absolute_path))
            print(f"{file}: {where}: {error.message[:300]}")
            failed = True
        for copied in damaged(shortened(record)):
            if validate.is_valid(copied):
                print(f"{file}: the schema lets an unknown key pass")
                failed = True
                break
        for key in schema["required"]:
            if validate.is_valid({k: v for k, v in record.items() if k != key}):
                print(f"{file}: the schema does not ask for {key}")
                failed = True
    print("failed" if failed else f"{len(records)} records fit the schema")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
