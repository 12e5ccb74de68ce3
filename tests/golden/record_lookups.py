# SPDX-License-Identifier: Apache-2.0
"""Tokens, padding and weights of Keras' StringLookup, and numbers of its Hashing, for tests/data/learned_test.c.

    python tests/golden/record_lookups.py > tests/golden/lookups.json
"""
import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf

TRAIN = ["red", "green", "red", "", "blue", "green", "none", "red", "cyan", "blue", "cyan", "none", "[UNK]", "[UNK]"]
ASKED = ["blue", "red", "black", "", "none", "cyan", "green", "[UNK]"]
WORDS = ["green", "red"]
CASES = [{"mask_token": ""}, {"mask_token": "none"}, {"mask_token": "none", "max_tokens": 4},
         {"mask_token": "none", "output_mode": "one_hot"}, {"mask_token": "none", "output_mode": "one_hot", "max_tokens": 4},
         {"oov_token": "none"}, {"oov_token": "none", "mask_token": ""}, {"mask_token": "none", "vocabulary": WORDS},
         {"mask_token": "none", "vocabulary": ["none", "[UNK]", *WORDS]}, {"oov_token": "none", "vocabulary": ["none", *WORDS]},
         {"output_mode": "multi_hot", "max_tokens": 9, "pad_to_max_tokens": True},
         {"output_mode": "count", "mask_token": "", "max_tokens": 9, "pad_to_max_tokens": True},
         {"output_mode": "tf_idf"}, {"output_mode": "tf_idf", "mask_token": "none", "max_tokens": 3},
         {"output_mode": "tf_idf", "oov_token": "none", "max_tokens": 9, "pad_to_max_tokens": True},
         {"output_mode": "tf_idf", "vocabulary": WORDS, "idf_weights": [0.5, 0.75]},
         {"output_mode": "tf_idf", "vocabulary": WORDS, "idf_weights": [0.5, 0.75], "mask_token": "", "max_tokens": 5,
          "pad_to_max_tokens": True}]


# Texts of all the lengths that the hash treats differently: 0, 1 to 3, 4 to 7, 8 to 16, 17 to 32, 33 to 64, and more.
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 äöü" * 8
HASHED = [LETTERS[i:i + n] for i, n in enumerate([0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 32, 33, 47, 64, 65, 100, 127, 128, 129, 192, 200, 256])]
NUMBERS = [0, 1, -1, 7, 42, 65536, -123456]
HASHES = [({"num_bins": 1 << 20}, HASHED), ({"num_bins": 1 << 20, "salt": 137}, HASHED), ({"num_bins": 1000, "salt": [133, 137]}, HASHED),
          ({"num_bins": 3, "mask_value": ""}, HASHED), ({"num_bins": 1, "mask_value": "a"}, HASHED),
          ({"num_bins": 5, "output_mode": "one_hot"}, HASHED), ({"num_bins": 1 << 20}, NUMBERS), ({"num_bins": 7, "salt": 3, "mask_value": 0}, NUMBERS)]


def record_hash(arguments, asked):
    rows, numbers = "output_mode" in arguments, not isinstance(asked[0], str)
    values = tf.constant(asked, tf.int64 if numbers else tf.string)
    out = np.array(keras.layers.Hashing(**arguments)(values[:, None] if rows else values))
    step = "hashing: " + json.dumps(arguments)
    given = {"x": {"shape": [len(asked)], "data": asked}} if numbers else {"train": asked, "texts": asked}
    return {"id": step, "op": "cast" if numbers else "text", "in": {"step": step, **given},
            "out": {"vocabulary": [], "shape": list(out.shape), "data": [float(x) for x in out.ravel()]}}


COUNTED, SOUGHT = [12, 5, 12, -3, 100, 5, 9, 12, 100, 0, 0, 9, 7, -1], [12, 100, 5, 9, -3, 0, 7, 77, -1]
INTEGERS = [{}, {"max_tokens": 4}, {"mask_token": 0}, {"vocabulary": [12, 36, 1138, 42]}, {"vocabulary": SOUGHT[:8], "num_oov_indices": 0},
            {"output_mode": "one_hot"}, {"oov_token": -3}, {"output_mode": "tf_idf"}, {"mask_token": 0, "oov_token": 7, "output_mode": "count"},
            {"mask_token": 12, "vocabulary": [12, -1, 36, 5]}]


def record_integers(arguments):
    layer = keras.layers.IntegerLookup(**arguments)
    if "vocabulary" not in arguments:
        layer.adapt(np.array(COUNTED)[:, None])
    asked = SOUGHT[:6] if "num_oov_indices" in arguments else SOUGHT
    out = np.array(layer(tf.constant(asked)[:, None] if "output_mode" in arguments else tf.constant(asked)))
    tokens = (arguments.get("oov_token", -1), arguments.get("mask_token"))
    step = "integer_lookup: " + json.dumps(arguments)
    return {"id": step, "op": "integers", "in": {"step": step, "train": COUNTED, "texts": asked},
            "out": {"vocabulary": [str(word) for word in layer.get_vocabulary() if word not in tokens],
                    "shape": list(out.shape), "data": [float(x) for x in out.ravel()]}}


def record(arguments):
    layer = keras.layers.StringLookup(**arguments)
    if "vocabulary" not in arguments:
        layer.adapt(np.array(TRAIN)[:, None])
    rows = "output_mode" in arguments
    out = np.array(layer(tf.constant(ASKED)[:, None] if rows else tf.constant(ASKED)))
    tokens = (arguments.get("oov_token", "[UNK]"), arguments.get("mask_token"))
    step = "string_lookup: " + json.dumps(arguments)
    return {"id": step[15:], "op": "text", "in": {"step": step, "train": TRAIN, "texts": ASKED},
            "out": {"vocabulary": [str(word) for word in layer.get_vocabulary() if word not in tokens],
                    "shape": list(out.shape), "data": [float(x) for x in out.ravel()]}}


print('{"format": 1, "area": "lookups", "program": "tests/data/learned_test.c", "about": "Keras %s on TensorFlow %s: '
      'StringLookup (adapted on `train`), Hashing, IntegerLookup", "cases": [' % (keras.__version__, tf.__version__))
print(",\n".join(json.dumps(case) for case in [*map(record, CASES), *(record_hash(*case) for case in HASHES), *map(record_integers, INTEGERS)]))
print("]}")
