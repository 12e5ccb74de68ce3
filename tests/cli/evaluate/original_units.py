# SPDX-License-Identifier: Apache-2.0
# write: the data; NAME: compares what dtrain wrote for a job with scikit-learn, NumPy and ONNX Runtime.
import json
import sys

import numpy as np

N, TRAIN = 400, 300


def write():
    r = np.random.default_rng(11)
    x = r.normal(size=(N, 3)).astype(np.float32)
    price = 50000 + x @ [8000, -15000, 3000] + 900 * r.normal(size=N)
    rate = 0.02 + x @ [0.003, 0.001, -0.01] + 0.0005 * r.normal(size=N)
    rows = np.column_stack([x, price, rate]).astype(np.float32)
    lines = [",".join(repr(float(v)) for v in row) for row in rows]
    open("all.csv", "w").write("a,b,c,price,rate\n" + "\n".join(lines) + "\n")
    open("new.csv", "w").write("a,b,c\n" + "\n".join(",".join(s.split(",")[:3]) for s in lines[TRAIN:]) + "\n")


def say(what, got, want, rtol):
    got, want = np.asarray(got, float), np.asarray(want, float)
    scale = np.abs(want).max(axis=0)
    off = (np.abs(got - want) / scale).max()
    print(f"{what}: " + ("same" if off <= rtol else f"differs by {off:.2g}: {got.ravel()[:4]}, not {want.ravel()[:4]}"))


def compare(name):
    import onnxruntime
    from sklearn import metrics
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import StandardScaler

    table = np.loadtxt("all.csv", delimiter=",", skiprows=1, dtype=np.float32)
    x, y = table[:, :3], table[:, 3:] if name == "both" else table[:, 3:4]
    train, test = y[:TRAIN].astype(float), y[TRAIN:]
    got, raw, new = (np.load(f"{name}{end}.npy") for end in ("", ".raw", ".new"))
    say("rows of a file", new, got, 0)
    say("CSV", np.loadtxt(f"{name}.csv", delimiter=",", skiprows=1, ndmin=2), got, 1e-6)
    mean, std = (train.mean(0), train.std(0)) if name != "given" else (50000, 17000)
    say("undone", raw * std + mean, got, 1e-6)
    saved = json.load(open(f"{name}.json"))
    flat = saved.get("metrics", saved)
    for key, value in (
        ("mae", metrics.mean_absolute_error(test, got)),
        ("root_mean_squared_error", metrics.mean_squared_error(test, got) ** 0.5),
        ("r2_score", metrics.r2_score(test, got)),
        ("loss", (((got - test) / std) ** 2).mean()),
    ):
        say(key, flat[key], value, 2e-4)
    model = TransformedTargetRegressor(regressor=LinearRegression(), transformer=StandardScaler())
    say("TransformedTargetRegressor", got, model.fit(x[:TRAIN], train).predict(x[TRAIN:]), 0.02)
    session = onnxruntime.InferenceSession(f"{name}.onnx")
    say("ONNX", session.run(None, {session.get_inputs()[0].name: x[TRAIN:]})[0], got, 1e-5)


write() if sys.argv[1] == "write" else compare(sys.argv[1])
