#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CSV file that reading.c wrote, read by tf.data: seconds of the clock for batches of 256, the least of five rounds, two threads.

    reading.py FOLDER/a.csv

Three ways that tf.data has: decode_csv of whole batches, two at a time; CsvDataset, batched; and the same with the columns stacked.
"""
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

tf.config.threading.set_inter_op_parallelism_threads(2)
tf.config.threading.set_intra_op_parallelism_threads(2)
path = sys.argv[1]
with open(path, encoding="ascii") as f:
    features = f.readline().count(",")
types = [tf.float32] * features + [tf.int64]


def decoded(lines):
    columns = tf.io.decode_csv(lines, [tf.zeros([1], t) for t in types])
    return tf.stack(columns[:-1], 1), columns[-1]


def stacked(*columns):
    return tf.stack(columns[:-1], 1), columns[-1]


rows = tf.data.experimental.CsvDataset(path, types, header=True).batch(256)
ways = {
    "decode_csv of batches": tf.data.TextLineDataset(path).skip(1).batch(256).map(decoded, num_parallel_calls=2),
    "CsvDataset": rows,
    "CsvDataset, stacked": rows.map(stacked, num_parallel_calls=2),
}
options = tf.data.Options()
options.threading.private_threadpool_size = 2
for name, way in ways.items():
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in way.prefetch(2).with_options(options):
            pass
        best = min(best, time.perf_counter() - start)
    print(f"tf.data, {name:40} {best:6.3f} s")
