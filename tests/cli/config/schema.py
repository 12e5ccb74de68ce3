# SPDX-License-Identifier: Apache-2.0
"""The schema of job files against the reader of job files: schema.py DTRAIN DIRECTORY JOB... PAGE.md...

The schema is itself valid; jobs that `dtrain validate` takes are valid by it; and of jobs that are changed at one place, by a key that nobody knows, a
value of another type, a number beyond its limits, both say the same. Jobs that only one of them refuses are printed: always where it is the schema, and
where it is the reader when it says so with an error that a schema can express. Parts of jobs on pages of the documentation are valid, too.
"""
import copy
import json
import os
import random
import re
import subprocess
import sys

import jsonschema
import yaml

DTRAIN, FOLDER = sys.argv[1:3]
EXPRESSIBLE = {"DT001": "unknown key", "DT010": "required key missing", "DT011": "value of another type", "DT017": "value out of range"}


def scalar(node):
    """A scalar as YAML 1.2 reads it."""
    text = node.value
    if node.style:
        return text
    words = {"null": None, "~": None, "": None, "true": True, "false": False}
    if text in words:
        return words[text]
    if re.fullmatch(r"[-+]?(0|[1-9][0-9]*)", text):
        return int(text)
    if re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", text):
        return float(text)
    return text


def value_of(node):
    if isinstance(node, yaml.MappingNode):
        return {key.value: value_of(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item) for item in node.value]
    return scalar(node)


def read(path):
    with open(path, encoding="utf-8") as file:
        return value_of(yaml.compose(file))


def validate(paths):
    """The codes of each job's errors, by path; none: it is valid."""
    codes = {path: [] for path in paths}
    for first in range(0, len(paths), 50):
        some = paths[first:first + 50]
        told = subprocess.run([DTRAIN, "validate", "--no-data", "--json", *some], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=500).stdout
        for line in told.decode().splitlines():
            error = json.loads(line)
            if error.get("severity") == "error" or error.get("event") == "error":
                codes[error["file"]].append((error["code"], error["message"]))
    return codes


def check_page(path, validator):
    """The YAML on a page: sections of jobs, the rest of which stands elsewhere. What is set in is less than a section."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    for block in re.findall(r"^```yaml\n(\S.*?)^```", page, re.S | re.M):
        job = {"extends": "the rest", **value_of(yaml.compose(block))}
        for error in validator.iter_errors(job):
            print(f"{path}: {list(error.absolute_path)}: {error.message[:200]}")


# ---- jobs that are changed at one place ----

def places(value, path=()):
    """All places in a job, its own not."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield path + (key,)
        yield from places(item, path + (key,))


def changed(job, path, make):
    job = copy.deepcopy(job)
    at = job
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = make(at[path[-1]])
    return job


def unknown_key(value):
    return {**value, "zzz": 1} if isinstance(value, dict) else None


CHANGES = [unknown_key, lambda v: "a word", lambda v: [1, "two"], lambda v: {"zzz": 1}, lambda v: -3, lambda v: 0, lambda v: 2.5, lambda v: 1e300,
           lambda v: True, lambda v: None]


def is_typed(path):
    """What `let` and `for` hold is given a type where it is used; what parts of the data are, the format says, which the schema leaves to the reader."""
    return not {"let", "for"} & set(path) and path[:2] not in (("dataset", "train"), ("dataset", "validation"), ("dataset", "test"))


def mutant_of(job, draw):
    path, change = draw.choice([path for path in places(job) if is_typed(path)]), draw.choice(CHANGES)
    return path, changed(job, path, change)


def is_expressible(error, job):
    """Not by a schema: that `partition` names what the model lacks, and keys of a strategy without a type, which a job that is extended may give."""
    code, message = error
    strategy = job.get("strategy")
    untyped = isinstance(strategy, dict) and "type" not in strategy and message.endswith("in strategy")
    return code in EXPRESSIBLE and not message.startswith("partition names") and not untyped


def main():
    schema = json.loads(subprocess.run([DTRAIN, "config", "schema"], stdout=subprocess.PIPE, check=True, timeout=60).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    for path in sys.argv[3:]:
        if path.endswith(".md"):
            check_page(path, validator)

    jobs = {path: read(path) for path in sys.argv[3:] if not path.endswith(".md")}
    codes = validate(list(jobs))
    sound = [path for path in jobs if not codes[path]]
    for path in sound:
        for error in validator.iter_errors(jobs[path]):
            print(f"{path}: refused by the schema at {list(error.absolute_path)}: {error.message[:300]}")
    for path in jobs:
        if any(is_expressible(error, jobs[path]) for error in codes[path]) and validator.is_valid(jobs[path]):
            print(f"{path}: taken by the schema: {codes[path]}")

    seed = int(os.environ.get("SEED", "1"))
    draw = random.Random(seed)
    count = int(os.environ.get("MUTANTS", "150"))
    made = {}
    for n, path in enumerate(draw.choices([path for path in sorted(sound) if "published" not in path], k=count)):
        name = os.path.join(FOLDER, f"mutant-{n}.yaml")
        place, mutant = mutant_of(jobs[path], draw)
        with open(name, "w", encoding="utf-8") as file:
            json.dump(mutant, file)
        made[name] = (path, place, mutant)
    codes = validate(list(made))
    both = wrong = 0
    for name, (path, place, mutant) in made.items():
        errors = list(validator.iter_errors(mutant))
        told = [x for x in codes[name] if is_expressible(x, mutant)]
        both += bool(errors and codes[name])
        if errors and not codes[name]:
            wrong += 1
            print(f"seed {seed}: {path} at {list(place)}: refused by the schema alone: {errors[0].message[:200]}")
        elif told and not errors:
            wrong += 1
            print(f"seed {seed}: {path} at {list(place)}: taken by the schema alone: {told[0]}")
    print(f"{len(sound)} jobs are valid by both" if not wrong else f"{wrong} of {len(made)} jobs that are changed, seed {seed}")
    if both < len(made) / 4:
        print(f"only {both} of {len(made)} changed jobs were refused by both")


main()
