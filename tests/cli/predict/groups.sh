#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: data job train
# normalize with per_group against NumPy: each series has the mean and deviation of its own training rows. Predictions are in the units of their
# series, for the job's data and for a file whose rows are mixed; mixup takes each example's own series. A series that training did not have is an error, and so is ONNX.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy) || exit 77
cd "$TEST_DIR" || exit 1
"$python" - <<'END'
import numpy as np
r = np.random.default_rng(20261203)
rows = [(s, t, m + d * np.sin(t) + d * 0.1 * r.normal(), r.normal()) for s, m, d, n in (("a", 10, 1, 40), ("b", 900, 50, 60), ("c", -3, .1, 35)) for t in range(n)]
with open("rows.csv", "w") as f, open("new.csv", "w") as g:
    f.write("t,shop,y,z\n")
    g.write("t,shop,y,z\n5,d,1,2\n")
    for i in r.permutation(len(rows)):
        f.write("%d,%s,%.5f,%.5f\n" % (rows[i][1], rows[i][0], rows[i][2], rows[i][3]))
    for t in range(6):
        g.write("%d,d,1,2\n" % (t + 6))
END
cat >job.yaml <<'END'
version: 1
dataset:
  format: csv
  train: rows.csv
  element:
    t: {column: t, dtype: int64}
    shop: {column: shop, dtype: string}
    past: {columns: [y, z]}
    y: {column: y}
  window: {length: 5, horizon: 2, order: t, group: shop, future: [y]}
  map: {past: [normalize: {per_group: true}], y: [normalize: {per_group: true}, rescale: {scale: 0.5}]}
  validation_split: 0.25
  global_batch_size: 8
model: {layers: [Input: {name: past, shape: [5, 2]}, Flatten, Dense: {name: next, units: 2}]}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: mse, target: y}
fit: {epochs: 30}
output: {dir: run}
END
exits 0 data convert job.yaml --mapped -o train.npz -q
exits 0 fit job.yaml -q
exits 0 predict job.yaml -o validation.npy -q
exits 0 predict job.yaml --split train -o train.npy -q
exits 0 predict job.yaml --split train -o twice.npy -q dataset.repeat=2
exits 0 predict job.yaml --input rows.csv -o next.npy -q
exits 0 predict job.yaml --input rows.csv -o scaled.npy -q compile.original_units=false
exits 0 fit job.yaml 'dataset.map={past: [normalize: {per_group: true}, mixup: 0.2], y: [normalize: {per_group: true}, mixup: 0.2]}' fit.epochs=1 output.dir=mixed -q
exits 0 data convert job.yaml --split validation -o late.npz -q
"$python" - <<'END'
import csv
import numpy as np

rows = list(csv.DictReader(open("rows.csv")))
t = np.array([int(r["t"]) for r in rows])
x = np.array([[float(r["y"]), float(r["z"])] for r in rows])
series = {s: np.array([i for i in np.argsort(t, kind="stable") if rows[i]["shop"] == s]) for s in "abc"}


def cut(span):
    found = [(t[own[i + span - 1]], own[i + span - 1], s, own[i:i + span]) for s, own in series.items() for i in range(len(own) - span + 1)]
    return sorted(found, key=lambda w: w[:2])


windows = cut(7)
late = windows[int(len(windows) * 0.75 + 1e-9):]
begin = min(t[w[3][5]] for w in late)
early = [w for w in windows[:len(windows) - len(late)] if t[w[3][-1]] < begin]
moments = {}
for s in "abc":
    seen = sorted({i for w in early if w[2] == s for i in w[3]})
    moments[s] = x[seen].mean(0), x[seen].std(0)
got = np.load("train.npz")
want = np.stack([(x[w[3][:5]] - moments[w[2]][0]) / moments[w[2]][1] for w in early])
assert got["past"].shape == want.shape and np.allclose(got["past"], want, atol=1e-4), abs(got["past"] - want).max()
want = np.stack([0.5 * (x[w[3][5:], 0] - moments[w[2]][0][0]) / moments[w[2]][1][0] for w in early])
assert np.allclose(got["y"], want, atol=1e-4)
last = cut(5)
got, scaled = np.load("next.npy"), np.load("scaled.npy")
want = np.stack([scaled[k] / 0.5 * moments[w[2]][1][0] + moments[w[2]][0][0] for k, w in enumerate(last)])
assert got.shape == want.shape and np.allclose(got, want, rtol=1e-4, atol=1e-4)
got = np.load("train.npy")
assert np.array_equal(np.load("twice.npy"), np.concatenate([got, got]))
got, true = np.load("validation.npy"), np.load("late.npz")["y"]
for s, scale in (("a", 1), ("b", 50), ("c", .1)):
    if any(w[2] == s for w in late):
        off = np.abs(got - true)[[w[2] == s for w in late]].mean()
        assert off < 0.5 * scale, (s, off)
END
"$DTRAIN" predict job.yaml --input new.csv 2>&1 | grep -o 'error: .*'
"$DTRAIN" export job.yaml -o m.onnx 2>&1 | grep -o 'error: .*'
"$DTRAIN" validate job.yaml 'dataset.window={length: 5, horizon: 2, order: t, future: [y]}' 2>&1 | grep -o 'error: .*'
"$DTRAIN" validate job.yaml 'dataset.map.past=[rescale: {scale: 2}, normalize: {per_group: true}]' 2>&1 | grep -o 'error: .*'
"$DTRAIN" validate job.yaml 'dataset.map.past=[normalize: {mean: 1, std: 2, per_group: true}]' 2>&1 | grep -o 'error: .*'
