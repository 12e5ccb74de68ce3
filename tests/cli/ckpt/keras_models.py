# SPDX-License-Identifier: Apache-2.0
"""A model of Keras with drawn weights, saved in all of Keras' ways: keras_models.py DIR."""
import os
import sys

os.environ["KERAS_BACKEND"] = "numpy"
import h5py
import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
x = keras.Input((9,), name="x", dtype="int32")
y = layers.Embedding(20, 8, name="emb")(x)
y = layers.LSTM(6, return_sequences=True)(y)
y = layers.GRU(8, return_sequences=True, name="again")(y)
y = layers.MultiHeadAttention(2, 4)(y, y)
y = layers.LayerNormalization()(y)
y = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(y)
y = layers.SeparableConv1D(5, 3)(y)
y = layers.BatchNormalization(name="norm")(y)
y = layers.PReLU(shared_axes=[1])(y)
y = layers.GlobalAveragePooling1D()(y)
y = layers.Dropout(0.5)(y)
y = layers.Dense(4, use_bias=False)(y)
model = keras.Model(x, layers.Dense(3, name="head")(y))
draw = np.random.default_rng(3)
for v in model.weights:
    if "seed" not in v.path:
        v.assign(draw.uniform(0.1, 1, v.shape) if "variance" in v.path else draw.normal(size=v.shape) * 0.4)
folder = sys.argv[1]
rows = draw.integers(0, 20, (16, 9)).astype("int32")
np.save(f"{folder}/x.npy", rows)
np.save(f"{folder}/y.npy", draw.integers(0, 3, 16).astype("int32"))
np.save(f"{folder}/p.npy", model.predict(rows, verbose=0))
model.save(f"{folder}/m.keras")
model.save_weights(f"{folder}/m.weights.h5")
model.save(f"{folder}/m.h5")
# the same as tf.keras writes it: with ":0", and cells that are counted over the model
with h5py.File(f"{folder}/m.h5") as old, h5py.File(f"{folder}/tf.h5", "w") as f:
    def copy(name, value):
        if isinstance(value, h5py.Dataset) and "top_level" not in name:
            f[name.replace("_cell/", "_cell_7/") + ":0"] = value[()]

    old["model_weights"].visititems(copy)
# float64
keras.config.set_floatx("float64")
keras.config.set_dtype_policy("float64")
wide = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(5, activation="tanh"), keras.layers.BatchNormalization(), keras.layers.Dense(3)])
for v in wide.weights:
    v.assign(draw.uniform(0.1, 1, v.shape))
rows = draw.normal(size=(16, 4))
np.save(f"{folder}/x64.npy", rows)
np.save(f"{folder}/p64.npy", np.asarray(wide(rows)))
wide.save(f"{folder}/wide.keras")
# files that are no weights, or not only
with h5py.File(f"{folder}/link.h5", "w") as f:
    f["layers/dense/vars/0"] = h5py.ExternalLink("m.weights.h5", "/layers/dense/vars/0")
with h5py.File(f"{folder}/loop.h5", "w") as f:
    layers = f.create_group("layers")
    layers["again"] = layers
with h5py.File(f"{folder}/large.h5", "w") as f:
    f.create_dataset("layers/dense/vars/0", shape=(1 << 15, 1 << 15), dtype="f4", chunks=(64, 64), compression="gzip")
with h5py.File(f"{folder}/text.h5", "w") as f:
    f["layers/dense/vars/0"] = "a text"
with h5py.File(f"{folder}/scale.h5", "w") as f:
    for i in range(3):
        f[f"layers/batch_normalization/vars/{i}"] = np.zeros(4, "f4")
raw = bytearray(open(f"{folder}/m.weights.h5", "rb").read())
open(f"{folder}/cut.h5", "wb").write(raw[: len(raw) // 2])
raw[96:4096] = bytes(draw.integers(0, 256, 4000, dtype="u1"))
open(f"{folder}/bent.h5", "wb").write(raw)
