# SPDX-License-Identifier: Apache-2.0
"""Tokens, padding and weights of Keras' StringLookup, for tests/data/learned_test.c.

    python tests/golden/record_lookups.py > tests/golden/lookups.json
"""
import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf

TRAIN = ["red", "green", "red", "", "blue", "green", "none", "red", "cyan", "blue", "cyan", "none"]
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
      'StringLookup (adapted on `train`)", "cases": [' % (keras.__version__, tf.__version__))
print(",\n".join(json.dumps(record(arguments)) for arguments in CASES))
print("]}")
