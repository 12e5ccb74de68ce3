#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Other programs read what is written: NumPy, Python's zipfile and csv, and a reader of TFRecords in this test.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy) || exit 77
printf 'a,b,c\r\n1,-2.5,300\r\n-4,1e-300,-6\r\n9007199254740993,0.1,9\r\n' >"$TEST_DIR/a.csv"
exits 0 data convert "$TEST_DIR/a.csv" -o "$TEST_DIR/a.npz" -q
exits 0 data convert "$TEST_DIR/a.csv" -o "$TEST_DIR/{element}.npy" -q
exits 0 data convert "$TEST_DIR/a.csv" -o "$TEST_DIR/a.tfrecord" -q
exits 0 data convert tests/golden/data/stored.npz -o "$TEST_DIR/b.npz" -q
exits 0 data convert tests/golden/data/stored.npz -o "$TEST_DIR/b.csv" -q
"$python" - "$TEST_DIR" <<'END'
import csv, struct, sys, zipfile
import numpy as np

folder = sys.argv[1] + "/"
rows = list(csv.DictReader(open(folder + "a.csv", newline="")))
want = {"a": np.array([int(r["a"]) for r in rows]), "b": np.array([float(r["b"]) for r in rows]), "c": np.array([int(r["c"]) for r in rows])}
assert zipfile.ZipFile(folder + "a.npz").testzip() is None
for name, x in want.items():
    for got in np.load(folder + "a.npz")[name], np.load(folder + name + ".npy"):
        assert got.dtype == x.dtype and np.array_equal(got, x), (name, got)

golden, back = np.load("tests/golden/data/stored.npz"), np.load(folder + "b.npz")
assert golden.files == back.files
table = np.array(list(csv.reader(open(folder + "b.csv", newline="")))[1:], dtype=float)
column = 0
for name in golden.files:
    x = golden[name].reshape(6, -1)
    assert np.array_equal(back[name], golden[name]), name
    assert np.array_equal(table[:, column:column + x.shape[1]], x), name
    column += x.shape[1]
assert column == table.shape[1]

def crc32c(data):
    c = 0xffffffff
    for byte in data:
        c ^= byte
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    c ^= 0xffffffff
    return ((c >> 15 | c << 17) + 0xa282ead8) & 0xffffffff

def varints(data):
    x = shift = 0
    for byte in data:
        x |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield x - (x >> 63 << 64)
            x = shift = 0

def fields(data):
    while data:
        n = next(i for i, b in enumerate(data[1:]) if b < 128) + 1
        size = next(varints(data[1:n + 1]))
        assert data[0] & 7 == 2
        yield data[0] >> 3, data[n + 1:n + 1 + size]
        data = data[n + 1 + size:]

records, at, file = [], 0, open(folder + "a.tfrecord", "rb").read()
while at < len(file):
    size, crc = struct.unpack_from("<QI", file, at)
    assert crc == crc32c(file[at:at + 8])
    data = file[at + 12:at + 12 + size]
    assert struct.unpack_from("<I", file, at + 12 + size)[0] == crc32c(data)
    at += size + 16
    record = {}
    for _, features in fields(data):
        for _, entry in fields(features):
            (_, name), (_, feature) = fields(entry)
            (kind, values), = fields(feature)
            (_, packed), = fields(values)
            record[name.decode()] = list(varints(packed)) if kind == 3 else list(np.frombuffer(packed, "<f4"))
    records.append(record)
assert [r["a"] for r in records] == [[x] for x in want["a"]] and [r["c"] for r in records] == [[x] for x in want["c"]]
assert np.array_equal([r["b"][0] for r in records], want["b"].astype("f4"))
print("all the same")
END
