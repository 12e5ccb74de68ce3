#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# window.lags against columns that NumPy shifts within each series: two series whose rows are mixed, several columns, an element of the future,
# what `normalize` learns, and the same rows in `predict` and in ONNX.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy onnxruntime) || exit 77
cd "$TEST_DIR" || exit 1
"$python" - <<'END'
import numpy as np
r = np.random.default_rng(20261202)
rows = [(s, t) for s, n in zip("abc", (40, 12, 33)) for t in range(n)]
with open("rows.csv", "w") as f:
    f.write("t,shop,y,z\n")
    for i in r.permutation(len(rows)):
        f.write(f"{rows[i][1]},{rows[i][0]},{r.normal():.5f},{5 + r.normal():.5f}\n")
END
cat >job.yaml <<'END'
version: 1
dataset:
  format: csv
  train: rows.csv
  element:
    t: {column: t, dtype: int64}
    shop: {column: shop, vocabulary: [a, b, c]}
    past: {columns: [y, z]}
    own: {column: y}
    far: {column: y}
    y: {column: y}
  window: {length: 5, horizon: 2, stride: 2, order: t, group: shop, future: [y, far], lags: {past: [1, 4], own: [0, 6, 2], far: [2, 7]}}
  map: {past: [normalize]}
  validation_split: 0.2
  global_batch_size: 8
model:
  type: functional
  layers:
    - Input: {name: past, shape: [5, 4]}
    - Input: {name: own, shape: [5, 3]}
    - Flatten: {name: a, inputs: past}
    - Flatten: {name: b, inputs: own}
    - Concatenate: {inputs: [a, b]}
    - Dense: {name: next, units: 2}
compile: {optimizer: sgd, loss: mse, target: y}
fit: {epochs: 2}
output: {dir: run}
END
exits 0 data convert job.yaml --mapped -o train.npz -q
exits 0 data convert job.yaml --mapped --split validation -o validation.npz -q
exits 0 fit job.yaml -q
exits 0 predict job.yaml --input rows.csv -o next.npy -q
exits 0 export job.yaml -o m.onnx -q
"$python" - <<'END'
import csv
import numpy as np
import onnxruntime

rows = list(csv.DictReader(open("rows.csv")))
t = np.array([int(r["t"]) for r in rows])
y, z = (np.array([float(r[k]) for r in rows], "f4") for k in "yz")
lags = {"past": [1, 4], "own": [0, 6, 2], "far": [2, 7]}


def shifted(series, lag):
    """The indices of the rows that are a lag earlier; -1: there is no such row"""
    return np.concatenate([np.full(lag, -1), series[:len(series) - lag]])


def windows(end):
    """The rows of each window, and of each of its rows those of each lag, in the order of the last rows"""
    found = []
    for shop in "abc":
        own = np.array([i for i in np.argsort(t, kind="stable") if rows[i]["shop"] == shop])
        moved = {k: np.stack([shifted(own, lag) for lag in v], -1) for k, v in lags.items()}
        span, first = (5, 6) if end else (7, 7)  # predictions need no element of the future
        begin = first + ((len(own) - first - span) % 2 if end else 0)
        for i in range(begin, len(own) - span + 1, 2):
            w = {k: moved[k][i + 5:i + 7] if k == "far" else moved[k][i:i + 5] for k in lags}
            assert all((v >= 0).all() for k, v in w.items() if not (end and k == "far"))
            found.append((t[own[i + span - 1]], own[i + span - 1], own[i:i + span], w))
    return sorted(found, key=lambda w: w[:2])


def same(got, want, what):
    assert got.shape == want.shape and np.allclose(got, want, atol=1e-5), (what, got.shape, want.shape)


all_ = windows(False)
late = all_[int(len(all_) * 0.8 + 1e-9):]
begin = min(t[w[2][5]] for w in late)
early = [w for w in all_[:len(all_) - len(late)] if t[w[2][-1]] < begin]
seen = set()
for w in early:
    own = np.array([i for i in np.argsort(t, kind="stable") if rows[i]["shop"] == rows[w[1]]["shop"]])
    at = int(np.flatnonzero(own == w[2][0])[0])
    seen |= set(own[at - 7:at + 7].tolist())
seen = sorted(seen)
columns = np.stack([y, z], -1).astype("f8")
mean, deviation = columns[seen].mean(0), columns[seen].std(0)
for part, ws in ("train", early), ("validation", late):
    got = np.load(f"{part}.npz")
    same(got["own"], np.stack([y[w[3]["own"]] for w in ws]), part)
    same(got["far"], np.stack([y[w[3]["far"]] for w in ws]), part)
    same(got["y"], np.stack([y[w[2][5:]] for w in ws]), part)
    same(got["past"], np.stack([((columns[w[3]["past"]] - mean) / deviation).reshape(5, 4) for w in ws]), part)

ws = windows(True)
want = np.load("next.npy")
session = onnxruntime.InferenceSession("m.onnx")
assert {i.name: i.shape[1:] for i in session.get_inputs()} == {"past": [10, 2], "own": [15]}
got = session.run(None, {"past": np.stack([columns[w[3]["past"]].reshape(10, 2) for w in ws]).astype("f4"),
                         "own": np.stack([y[w[3]["own"]].reshape(15) for w in ws])})[0]
same(got, want, "onnx")
END
try() { "$DTRAIN" validate job.yaml "dataset.window.lags=$1" 2>&1 | grep -o 'error: .*'; }
try '{past: [1], sales: [1]}'
try '{far: [1]}'
try '{past: []}'
try '{past: [-1]}'
try '{past: [38, 39]}'
try '{past: 1}'
try '[1]'
