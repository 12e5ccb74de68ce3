# SPDX-License-Identifier: Apache-2.0
# RUN FOLDS: compares the folds of a run with scikit-learn's.
import json
import re
import sys

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

run, given = sys.argv[1:]
k = int(re.search(r"\d+", given).group())
draws, strata = "shuffle: false" not in given, "stratify" in given or "classifier" in given
kind = np.array([line.strip().split(",")[1] for line in open("rows.csv")][1:])
folds = [np.loadtxt(f"{run}/{i + 1}.csv", skiprows=1, delimiter=",", ndmin=2)[:, 0].astype(int) for i in range(k)]
print(given, "| each row once:", sorted(np.concatenate(folds)) == list(range(len(kind))), end=" | ")
peer = StratifiedKFold(k) if strata else KFold(k)
tests = [test for _, test in peer.split(kind, kind)]
if strata:
    count = lambda rows: [int((kind[rows] == c).sum()) for c in "abc"]
    print("classes as scikit-learn's:", [count(f) for f in folds] == [count(t) for t in tests], end=" | ")
print("sizes:", sorted(map(len, folds)) == sorted(map(len, tests)), end=" | ")
if not strata and not draws:
    print("rows:", all((f == t).all() for f, t in zip(folds, tests)), end=" | ")
if draws:
    print("drawn:", any((np.diff(f) > 1).any() and set(f) != set(t) for f, t in zip(folds, tests)), end=" | ")
saved = json.load(open(f"{run}/folds.json"))
last = [json.loads(open(f"{run}/fold-{i + 1}/history.jsonl").read().splitlines()[-1]) for i in range(k)]
same = saved["folds"] == k
for name, m in saved["metrics"].items():
    v = np.array([line[name] for line in last]) if name in last[0] else None
    same &= v is not None and list(v) == m["values"] and np.isclose(m["mean"], v.mean()) and np.isclose(m["std"], v.std())
print("mean and std:", bool(same))
