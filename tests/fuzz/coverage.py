#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of readers that corpora reach, by gcov: a row of a table for each target, or with --unreached each line that is not.

    tests/fuzz/coverage.py [--unreached] [TARGET...]

scripts/fuzz --coverage runs it. Each corpus goes through build/cov/tests/fuzz/replay_test, once more with each of its allocations failing. A file that
several targets are to reach has the lines of all of their corpora. Functions of apart.txt are left out where a second number says so.
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
REPLAY = "build/cov/tests/fuzz/replay_test"


def rows():
    with open(os.path.join(HERE, "targets.h")) as f:
        found = re.findall(r'^FUZZ_ROW\(\s*(\w+),\s*((?:"[^"]*"\s*)+)\)', f.read(), re.M)
    return {name: files.replace('"', " ").split() for name, files in found}


def apart():
    """{(file, function)}: what only looks as if it read."""
    out = set()
    with open(os.path.join(HERE, "apart.txt")) as f:
        for line in f:
            if line.strip() and not line.startswith(("#", " ")):
                source, functions = line.split(":")[0], line.split(":")[1].split()
                out.update((source, name) for name in functions)
    return out


def lines(source):
    """{line: (times, function)} of a file as it was compiled."""
    run = subprocess.run(["gcov", "--json-format", "--stdout", "build/cov/" + source[:-2] + ".o"], capture_output=True, text=True, check=True)
    out = {}
    for text in run.stdout.splitlines():
        for file in json.loads(text)["files"]:
            for line in file["lines"] if file["file"] == source else []:
                before = out.get(line["line_number"], (0, ""))
                out[line["line_number"]] = (before[0] + line["count"], line.get("function_name", before[1]))
    return out


def replay(target):
    for root, _, names in os.walk("build/cov"):
        for name in names:
            if name.endswith(".gcda"):
                os.remove(os.path.join(root, name))
    done = subprocess.run([REPLAY, "--starved", target], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode:
        print("%s: replay failed" % target)
        sys.exit(1)


def measure(targets, files):
    """{file: {line: (times, function)}} over all of the targets."""
    found = {}
    for target in targets:
        replay(target)
        for source in files[target]:
            all_lines = found.setdefault(source, {})
            for number, (times, function) in lines(source).items():
                all_lines[number] = (all_lines.get(number, (0, ""))[0] + times, function)
    return found


def percent(found):
    return 100 * sum(times > 0 for times, _ in found) // max(1, len(found))


def row(target, sources, found, left_out):
    parts = []
    for source in sources:
        whole = percent(found[source].values())
        read = percent([x for x in found[source].values() if (source, x[1]) not in left_out])
        parts.append("%s %d %%%s" % (source.removeprefix("lib/"), read, "" if read == whole else " (%d)" % whole))
    return "| %s | %s |" % (target, ", ".join(parts))


def show(source, found, left_out):
    with open(source) as f:
        text = f.read().splitlines()
    function = ""
    for number, (times, name) in sorted(found.items()):
        if times or (source, name) in left_out:
            continue
        if name != function:
            print("%s: %s" % (source, name))
            function = name
        print("%6d  %s" % (number, text[number - 1]))


def main(words):
    files, left_out = rows(), apart()
    detailed = "--unreached" in words
    wanted = [w for w in words if not w.startswith("-")] or list(files)
    shared = {source for target in wanted for source in files[target]}
    found = measure([t for t in files if shared & set(files[t])], files)
    for source in sorted(shared) if detailed else []:
        show(source, found[source], left_out)
    if not detailed:
        print("| target | lines reached by its corpus |\n|---|---|")
        for target in wanted:
            print(row(target, files[target], found, left_out))


main(sys.argv[1:])
