#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: data export
# Missing values: `impute` against scikit-learn's SimpleImputer, from a checkpoint, in JSON and in an exported model.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy sklearn onnx onnxruntime) || exit 77
"$python" - "$DTRAIN" "$TEST_DIR" <<'END'
import json, subprocess, sys
import numpy as np
import onnxruntime
from sklearn.impute import SimpleImputer

dtrain, folder = sys.argv[1:]
onnxruntime.set_default_logger_severity(3)
draw = np.random.default_rng(11)
N, TRAIN = 300, 240  # validation_split 0.2
x = np.column_stack([draw.normal(30, 10, N), draw.exponential(20, N), draw.integers(0, 4, N), draw.normal(size=N)])
x = np.round(x, 3).astype(np.float32)
gaps = draw.random(x.shape) < [0.2, 0.1, 0.1, 0]
x[gaps] = np.nan
x[3] = np.nan  # a whole row; the last column has no other gap
kind = draw.choice(["S", "C", "Q"], N, p=[0.4, 0.4, 0.2])
lost = draw.random(N) < 0.1
label = (np.nan_to_num(x).sum(axis=1) > 40).astype(int)
marks = ["", "NA", "?", "NaN", "null", "N/A", "-", "#N/A", " NA "]


def field(i, k):
    return marks[(i + k) % len(marks)] if np.isnan(x[i, k]) else repr(float(x[i, k]))


with open(folder + "/t.csv", "w") as f:
    f.write("a,b,c,d,kind,y\n")
    for i in range(N):
        values = [field(i, k) for k in range(4)] + [marks[i % len(marks)] if lost[i] else kind[i], str(label[i])]
        f.write(",".join(values) + "\n")

JOB = """
version: 1
name: %(name)s
output: {dir: %(folder)s/%(name)s}
dataset:
  format: csv
  train: t.csv
  element:
    x: {columns: [a, b, c, d]}
    k: {column: kind, vocabulary: [C, Q, S]}
    w: {column: kind, dtype: string}
    y: {column: y, dtype: int32}
  map:
    x: [impute: %(x)s]
    k: [impute: most_frequent, one_hot: 3]
    w: [impute: most_frequent, string_lookup: {output_mode: one_hot}]
  validation_split: 0.2
  global_batch_size: 32
model:
  type: functional
  layers:
    - Input: {name: x, shape: [%(width)d]}
    - Input: {name: k, shape: [3]}
    - Concatenate: {name: all, inputs: [x, k]}
    - Dense: {units: 1, activation: sigmoid, name: p}
  outputs: [p]
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: binary_crossentropy, target: y}
fit: {epochs: 2}
"""


def run(*words, text=None):
    done = subprocess.run([dtrain, *words], cwd=folder, input=text, capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def wanted_category():
    words, counts = np.unique(kind[:TRAIN][~lost[:TRAIN]], return_counts=True)
    return words[np.argmax(counts)]  # of several the least, as scikit-learn


for number, (strategy, indicator, extra) in enumerate(
    [("mean", True, {}), ("median", True, {}), ("median", False, {}), ("most_frequent", True, {}),
     ("constant", True, {"fill_value": -7.5}), ("constant", False, {})]
):
    imputer = SimpleImputer(strategy=strategy, add_indicator=indicator, **extra).fit(x[:TRAIN].astype(np.float64))
    want = imputer.transform(x.astype(np.float64))
    name = f"run{number}"
    args = {"strategy": strategy, "indicator": indicator, **extra}
    text = json.dumps(args) if indicator or extra else strategy  # `impute: median` is short
    with open(f"{folder}/{name}.yaml", "w") as f:
        f.write(JOB % {"name": name, "folder": folder, "x": text, "width": want.shape[1]})
    seen = json.loads(run("data", "inspect", f"{name}.yaml", "--json", "-r", str(N)))["records"]
    got = np.array([r["x"] for r in seen])
    assert got.shape == want[:TRAIN].shape, (got.shape, want.shape)
    assert np.allclose(got, want[:TRAIN], rtol=2e-7, atol=0), (strategy, np.abs(got - want[:TRAIN]).max())
    full = np.where(lost, wanted_category(), kind)[:TRAIN]
    assert [int(np.argmax(r["k"])) for r in seen] == ["CQS".index(k) for k in full]

    # predict has what was learned from the checkpoint: the rows alone have other medians
    run("fit", f"{name}.yaml", "-q")
    rows = run("predict", f"{name}.yaml", "--input", "t.csv").splitlines()[1:]
    predicted = np.array([float(r.split(",")[-1]) for r in rows])
    lines = "".join(
        json.dumps({c: None if np.isnan(v) else float(v) for c, v in zip("abcd", x[i])}
                   | ({} if lost[i] else {"kind": str(kind[i])})) + "\n" for i in range(N))
    again = run("predict", f"{name}.yaml", "--input", "-", text=lines).splitlines()[1:]
    assert again == rows, "JSON lines with null and a missing key"

    # exported with its steps: NaN and -1 are missing there
    run("export", f"{name}.yaml", "-o", f"{name}.onnx")
    session = onnxruntime.InferenceSession(f"{folder}/{name}.onnx", providers=["CPUExecutionProvider"])
    index = np.array([-1 if lost[i] else "CQS".index(kind[i]) for i in range(N)], np.int32)
    onnx = session.run(None, {"x": x, "k": index})[0].reshape(-1)
    assert np.allclose(onnx, predicted, atol=2e-6), np.abs(onnx - predicted).max()
END
