#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records tf.SequenceExamples and what TensorFlow parses from them, filled up to a number of steps: tests/data/sequences.json.

    tests/golden/record_sequences.py
"""
import json
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

STEPS, FEATURES = 4, 2
rng = np.random.default_rng(20261201)


def feature(**lists):
    (kind, values), = lists.items()
    proto = {"f": ("float_list", tf.train.FloatList), "i": ("int64_list", tf.train.Int64List), "b": ("bytes_list", tf.train.BytesList)}[kind]
    return tf.train.Feature(**{proto[0]: proto[1](value=values)})


def record(steps):
    lists = {"signal": [feature(f=rng.normal(size=FEATURES)) for _ in range(steps)],
             "tokens": [feature(i=[rng.integers(-9, 99)]) for _ in range(steps)],
             "empty": [feature(i=[]) for _ in range(steps)]}
    return tf.train.SequenceExample(context=tf.train.Features(feature={"label": feature(i=[steps % 3]), "name": feature(b=[b"n%d" % steps])}),
                                    feature_lists=tf.train.FeatureLists(feature_list={k: tf.train.FeatureList(feature=v) for k, v in lists.items()}))


def parse(example):
    lists = {"signal": tf.io.FixedLenSequenceFeature([FEATURES], tf.float32), "tokens": tf.io.FixedLenSequenceFeature([], tf.int64)}
    context, found = tf.io.parse_single_sequence_example(example, {"label": tf.io.FixedLenFeature([], tf.int64)}, lists)
    fill = lambda x, value: np.concatenate([x, np.full((STEPS - len(x), *x.shape[1:]), value, x.dtype)])
    return {"label": int(context["label"]), "signal": fill(found["signal"].numpy(), -1).ravel().tolist(), "tokens": fill(found["tokens"].numpy(), 7).tolist()}


examples = [record(n).SerializeToString() for n in (4, 1, 0, 3)]
with tempfile.TemporaryDirectory() as folder:
    with tf.io.TFRecordWriter(f"{folder}/x") as w:
        for e in examples:
            w.write(e)
    with open(f"{folder}/x", "rb") as f:
        file = f.read()
with open("tests/data/sequences.json", "w", encoding="ascii") as f:
    json.dump({"format": 1, "tensorflow": tf.__version__, "file": file.hex(), "examples": [parse(e) for e in examples]}, f, indent=1)
    f.write("\n")
