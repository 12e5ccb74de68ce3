#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A forecast in ONNX: takes the rows of a window as the table has them, and gives values in the table's units, like `predict`.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy onnxruntime) || exit 77
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "y,z"; for (i = 0; i < 90; i++) print 40 + i % 7 + 3 * (i % 3) "," i % 5 }' >rows.csv
cat >job.yaml <<'END'
version: 1
dataset:
  format: csv
  train: rows.csv
  element: {past: {columns: [z, y]}, day: {column: z, dtype: int32}, y: {column: y}}
  window: {length: 6, horizon: 2, future: [y]}
  map: {past: [normalize], day: [one_hot: 5], y: [rescale: {scale: 0.1}, normalize]}
  global_batch_size: 16
model:
  type: functional
  layers:
    - Input: {name: past, shape: [6, 2]}
    - Input: {name: day, shape: [6, 5]}
    - Concatenate: {inputs: [past, day]}
    - Flatten
    - Dense: {name: next, units: 2}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: mse}
fit: {epochs: 3}
output: {dir: run}
END
exits 0 fit job.yaml -q
exits 0 export job.yaml -o m.onnx -q
exits 0 predict job.yaml --input rows.csv -o next.csv -q
"$python" - <<'END'
import csv
import numpy as np
import onnxruntime
rows = np.array([[float(r["z"]), float(r["y"])] for r in csv.DictReader(open("rows.csv"))], "f4")
past = np.stack([rows[i:i + 6] for i in range(len(rows) - 5)])
session = onnxruntime.InferenceSession("m.onnx")
assert {i.name: i.shape[1:] for i in session.get_inputs()} == {"past": [6, 2], "day": [6]}
got = session.run(None, {"past": past, "day": past[:, :, 0].astype("i4")})[0]
want = np.loadtxt("next.csv", delimiter=",", skiprows=1)
assert got.shape == want.shape == (85, 2) and np.allclose(got, want, rtol=1e-5), (got[:2], want[:2])
assert 30 < got.mean() < 60, got.mean()
END
