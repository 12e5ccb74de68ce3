#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dataset.window against NumPy's sliding windows: series of other lengths whose rows are mixed, irregular times, dates, strides, arrays; the
# split by time; and what `normalize` learns from the rows of the training windows alone.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy) || exit 77
cd "$TEST_DIR" || exit 1
"$python" - <<'END'
import numpy as np
r = np.random.default_rng(20261129)
rows = [(s, t) for s, n in zip("pqrs", (61, 44, 9, 83)) for t in np.cumsum(r.integers(1, 5, n)) + 3 * 10**15]
rows = [rows[i] for i in r.permutation(len(rows))]
with open("mixed.csv", "w") as f:
    f.write("t,shop,y,z\n")
    for s, t in rows:
        f.write(f"{t},{s},{r.normal():.5f},{r.normal():.5f}\n")
days = r.permutation(70)
with open("days.csv", "w") as f:
    f.write("day,y\n")
    for d in days:
        f.write(f"{np.datetime64('2023-12-20') + d},{d * d}\n")
np.save("x.npy", r.normal(size=(57, 3)))
END
cat >mixed.yaml <<'END'
version: 1
dataset:
  format: csv
  train: mixed.csv
  element:
    t: {column: t, dtype: int64}
    shop: {column: shop, vocabulary: [s, r, q, p]}
    past: {columns: [z, y], dtype: float64}
    seen: {column: t, dtype: int64}
    y: {column: y, dtype: float64}
    when: {column: t, dtype: int64}
  window: {length: 7, horizon: 4, stride: 3, order: t, group: shop, future: [y, when]}
  validation_split: 0.3
  global_batch_size: 8
model: {layers: [Input: {name: past, shape: [7, 2]}, Flatten, Dense: {units: 4}]}
END
cat >days.yaml <<'END'
version: 1
dataset:
  format: csv
  train: days.csv
  element: {day: {column: day, dtype: string}, past: {column: y}, y: {column: y}, when: {column: day, dtype: string}}
  window: {length: 5, horizon: 2, order: day, future: [y, when]}
  map: {past: [normalize], when: [date: {parts: [weekday, day]}]}
  validation_split: {fraction: 0.25, shuffle: false}
  global_batch_size: 8
model: {layers: [Input: {name: past, shape: [5]}, Dense: {units: 1}]}
END
cat >array.yaml <<'END'
version: 1
dataset:
  format: npy
  train: {x: x.npy}
  window: {length: 6, stride: 2}
  global_batch_size: 8
model: {layers: [Input: {name: x, shape: [6, 3]}, Flatten, Dense: {units: 1}]}
END
for job in mixed days; do
    exits 0 data convert $job.yaml --mapped -o $job.train.npz -q
    exits 0 data convert $job.yaml --mapped --split validation -o $job.validation.npz -q
done
exits 0 data convert array.yaml -o array.npz -q
"$python" - <<'END'
import csv
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def cut(rows, span, stride):
    """(windows, span): indices into rows"""
    return sliding_window_view(np.arange(len(rows)), span)[::stride] if len(rows) >= span else np.empty((0, span), int)


def halves(time, windows, length, fraction):
    """The windows of training and validation; `time` is that of each row."""
    n = int(np.floor(len(windows) * (1 - fraction) + 1e-9))
    late = windows[n:]
    begin = time[late[:, length]].min()
    return windows[:n][time[windows[:n, -1]] < begin], late


def same(got, want, what):
    assert got.shape == want.shape and np.array_equal(got, want), (what, got.shape, want.shape, got[:1], want[:1])


rows = list(csv.DictReader(open("mixed.csv")))
t = np.array([int(r["t"]) for r in rows])
y, z = (np.array([float(r[k]) for r in rows]) for k in "yz")
windows = []
for shop in "pqrs":
    own = np.array([i for i, r in enumerate(rows) if r["shop"] == shop])
    own = own[np.argsort(t[own])]
    windows.append(own[cut(own, 11, 3)])
windows = np.concatenate(windows)
assert len(windows) == 17 + 12 + 0 + 25, len(windows)
windows = windows[np.lexsort((windows[:, -1], t[windows[:, -1]]))]
train, late = halves(t, windows, 7, 0.3)
assert len(late) == 17 and len(train) < 37
for part, w in ("train", train), ("validation", late):
    got = np.load(f"mixed.{part}.npz")
    assert sorted(got.files) == ["past", "seen", "when", "y"], got.files
    same(got["past"], np.stack([z, y], -1)[w[:, :7]], part)
    same(got["seen"], t[w[:, :7]], part)
    same(got["y"], y[w[:, 7:]], part)
    same(got["when"], t[w[:, 7:]], part)
first = np.load("mixed.validation.npz")["when"].min()
assert np.load("mixed.train.npz")["when"].max() < first

rows = list(csv.DictReader(open("days.csv")))
day = np.array([r["day"] for r in rows], "datetime64[D]")
y = np.array([float(r["y"]) for r in rows])
order = np.argsort(day)
train, late = halves(day, order[cut(order, 7, 1)], 5, 0.25)
learned = y[np.unique(train)]
weekday = (day.astype(int) + 3) % 7
month_day = (day - day.astype("datetime64[M]")).astype(int) + 1
for part, w in ("train", train), ("validation", late):
    got = np.load(f"days.{part}.npz")
    same(got["y"], y[w[:, 5:]].astype("f4"), part)
    same(got["when"], np.stack([weekday, month_day], -1)[w[:, 5:]].astype("f8"), part)
    want = (y[w[:, :5]] - learned.mean()) / learned.std()
    assert got["past"].shape == want.shape and np.allclose(got["past"], want, atol=1e-5), part

x = np.load("x.npy")
same(np.load("array.npz")["x"], x[cut(x, 6, 2)], "array")
END
