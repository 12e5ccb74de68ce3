# SPDX-License-Identifier: Apache-2.0
"""Models within models, and layers that are called several times: dtrain trains them from Keras' weights as Keras does, and gives them back.

    python keras_models.py DTRAIN DIRECTORY
"""
import os
import subprocess
import sys

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from keras import layers as L
from keras.src.applications.convnext import LayerScale
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

dtrain, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
JOB = """version: 1
name: k
dataset: {{format: npy, train: {{{files}, y: y.npy}}, global_batch_size: 4}}
model: {{keras_config: m.keras, init_from: m.safetensors}}
compile: {{optimizer: {{SGD: {{learning_rate: 0.01}}}}, loss: MeanSquaredError}}
fit: {{epochs: 2}}
output: {{dir: run}}
"""


def twins():
    """One model for two pictures."""
    x = keras.Input((8, 8, 1))
    y = L.MaxPooling2D(2)(L.BatchNormalization()(L.Conv2D(4, 3, activation="relu")(x)))
    encoder = keras.Model(x, L.Dense(6)(L.Flatten()(y)), name="encoder")
    a, b = keras.Input((8, 8, 1), name="a"), keras.Input((8, 8, 1), name="b")
    gap = L.Subtract()([encoder(a), encoder(b)])
    return keras.Model([a, b], L.Dense(1, name="out")(L.Multiply()([gap, gap])))


def transfer():
    """A frozen model below a new head."""
    base = keras.Sequential([keras.Input((8, 8, 3))], name="base")
    for filters in (4, 8):
        base.add(L.Conv2D(filters, 3, padding="same", use_bias=False))
        base.add(L.BatchNormalization())
        base.add(L.ReLU(max_value=6.0))
    base.trainable = False
    x = keras.Input((8, 8, 3), name="a")
    y = L.GlobalAveragePooling2D()(base(L.Rescaling(0.5)(x), training=False))
    return keras.Model(x, L.Dense(1, name="out")(y))


def loop():
    """Layers that read their own output."""
    x = y = keras.Input((5,), name="a")
    dense, norm = L.Dense(5, activation="tanh", kernel_regularizer="l2"), L.BatchNormalization()
    for _ in range(3):
        y = norm(dense(y))
    return keras.Model(x, L.Dense(1, name="out")(y))


def sentences():
    """One recurrent encoder for two sequences with padding."""
    encoder = keras.Sequential([keras.Input((7,), dtype="int32"), L.Embedding(20, 6, mask_zero=True), L.Bidirectional(L.LSTM(4))])
    a, b = (keras.Input((7,), dtype="int32", name=name) for name in "ab")
    return keras.Model([a, b], L.Dense(1, name="out")(L.Concatenate()([encoder(a), encoder(b)])))


def dictionaries():
    """Inputs and outputs by keys, which Keras sorts, and a list of inputs given by their names."""
    u, v = keras.Input((5,), name="u"), keras.Input((5,), name="v")
    split = keras.Model({"v": u, "u": v}, {"p": L.Dense(3)(L.Subtract()([u, v])), "o": L.Dense(3, activation="tanh")(v)}, name="split")
    listed = keras.Model([v, u], L.Subtract()([u, L.Dense(5)(v)]), name="listed")
    a, b = keras.Input((5,), name="a"), keras.Input((5,), name="b")
    y = split({"u": b, "v": listed({"u": a, "v": b})})
    return keras.Model([a, b], L.Dense(1, name="out")(L.Multiply()([y["o"], L.Dense(3)(y["p"])])))


def numbered():
    """Names that Keras gives are those of later calls of other layers; the output is that of a model."""
    dense, dense_1 = L.Dense(5, name="dense"), L.Dense(5, name="dense_1", activation="tanh")
    x = keras.Input((5,))
    base, base_1 = (keras.Model(x, L.Dense(5, activation="tanh", name="d")(x), name=name) for name in ("base", "base_1"))
    last = keras.Model(x, L.Dense(1)(x), name="last")
    a = keras.Input((5,), name="a")
    return keras.Model(a, last(base(base_1(base(dense(dense_1(dense(a))))))))


def operators():
    """Numbers on either side, by place and by name, functions that are activations; the inner model is called twice."""
    x = keras.Input((5,), name="x")
    y = L.Dense(5)(x)
    y = keras.ops.relu6(y + 3.0) * (1 / 6) * y
    y = 1 - (-y / 4) + 2 * keras.ops.tanh(y - 0.5) ** 2
    y = keras.ops.concatenate([keras.ops.multiply(x1=y, x2=np.float32(3)), keras.ops.square(keras.ops.add(0.25, y))], axis=-1)
    inner = keras.Model(x, L.Dense(5)(keras.ops.divide(y, keras.ops.convert_to_tensor(3.0))), name="inner")
    a = keras.Input((5,), name="a")
    return keras.Model(a, L.Dense(1, name="out")(keras.ops.maximum(inner(a), inner(0.5 * a))))


def flags():
    """Layers whose variables depend on their arguments, with names of other classes, in models whose layers have the same names."""
    x = keras.Input((6,), name="x")
    base = keras.Model(x, L.BatchNormalization(scale=False, name="norm")(L.Dense(6, use_bias=False)(x)), name="base")
    deep = keras.Model(x, L.BatchNormalization(center=False, name="norm")(base(x)), name="deep")
    a = keras.Input((6,), name="a")
    y = L.BatchNormalization(scale=False, center=False, name="norm")(deep(a))
    y = L.LayerNormalization(scale=False, name="batch_normalization")(L.Reshape((2, 3))(y))
    y = L.TimeDistributed(L.LayerNormalization(center=False, name="last"))(y)
    y = L.GroupNormalization(1, scale=False)(L.Dense(3)(y))
    return keras.Model(a, L.Dense(1, name="out")(L.Flatten()(y)))


def scaled():
    """Layers that only keras.applications has, of InceptionResNetV2 and ConvNeXt, one of them called twice, below and above activations that are layers."""
    a = keras.Input((5,), name="a")
    scale = CustomScaleLayer(0.3)
    y = scale([a, L.Dense(5, activation=L.LeakyReLU(negative_slope=0.2))(a)])
    y = scale([LayerScale(0.1, 5)(y), L.Dense(5)(y)])
    return keras.Model(a, CustomScaleLayer(2.0, name="last")([L.Dense(1)(a), L.Dense(1, activation=L.LeakyReLU())(y)]))


def cells():
    """RNN around cells, two of one class, with states and masks, and an activation with weights."""
    a = keras.Input((7, 3), name="a")
    y = L.RNN(L.SimpleRNNCell(4, activation="relu", use_bias=False), go_backwards=True, return_sequences=True)(L.Masking(0.0)(a))
    last, h, c = L.RNN(L.LSTMCell(3), return_state=True)(y)
    again = L.RNN(L.LSTMCell(3, unit_forget_bias=False, recurrent_activation="hard_sigmoid"), name="again")(y, initial_state=[h, c])
    model = keras.Model(a, L.Dense(1, name="out")(L.Dense(4, activation=L.PReLU())(L.Concatenate()([last, again, L.RNN(L.GRUCell(2))(y)]))))
    model(np.zeros((1, 7, 3), "float32"))  # Keras makes the weights of PReLU when it is called
    return model


def steps():
    """Statistics of each step's own, which move after each step, with and without masks."""
    a = keras.Input((3, 4), name="a")
    y = L.TimeDistributed(L.BatchNormalization(momentum=0.8))(L.Dense(4)(a))
    y = L.TimeDistributed(L.BatchNormalization(momentum=0.7, name="masked"))(L.Masking(0.0)(L.ReLU()(y)))
    return keras.Model(a, L.Dense(1, name="out")(L.LSTM(3)(L.TimeDistributed(L.Dropout(0.0))(y))))


def enlarged():
    """Cubic interpolation, which leaves the range of its input."""
    a = keras.Input((5, 3, 2), name="a")
    y = L.UpSampling2D((2, 3), interpolation="bicubic")(L.Conv2D(2, 2, padding="same")(a))
    return keras.Model(a, L.Dense(1, name="out")(L.Flatten()(y)))


def penalized():
    """Layers that change nothing but the loss."""
    a = keras.Input((5,), name="a")
    y = L.ActivityRegularization(l1=0.02, l2=0.03)(L.Dense(4, activation="selu")(L.AlphaDropout(0.0)(a)))
    return keras.Model(a, L.ActivityRegularization(l2=0.1, name="last")(L.Dense(1)(y)))


def run(*words):
    done = subprocess.run([dtrain, *words, "-q"], cwd=folder, capture_output=True, text=True)
    return done.stderr.strip()[-400:] if done.returncode else None


def predict(x, *words):
    if len(x) > 1:
        np.savez(f"{folder}/x.npz", **x)
    problem = run("predict", "job.yaml", *words, "--input", "x.npz" if len(x) > 1 else "a.npy", "-o", "p.npy")
    return np.load(f"{folder}/p.npy") if not problem else print(problem)


def differ(what, a, b):
    gap = np.max(np.abs(a - b))
    print(f"    {what}", "within 1e-5" if gap <= 1e-5 else f"differ by {gap:.3g}")


for make in (twins, transfer, loop, sentences, dictionaries, numbered, operators, flags, scaled, cells, steps, enlarged, penalized):
    print(make.__name__)
    keras.utils.set_random_seed(3)
    model, draw = make(), np.random.default_rng(1)
    for w in model.weights:
        if "seed" not in w.path:
            w.assign(draw.uniform(0.5, 1.5, w.shape) if "variance" in w.name else draw.normal(0, 0.3, w.shape))
    x = {i.name: draw.integers(0, 20, (16, *i.shape[1:])).astype("int32") if i.dtype == "int32" else draw.normal(size=(16, *i.shape[1:])).astype("float32") for i in model.inputs}
    y = draw.normal(size=(16, 1)).astype("float32")
    for name, value in {**x, "y": y}.items():
        np.save(f"{folder}/{name}.npy", value)
    with open(f"{folder}/job.yaml", "w") as f:
        f.write(JOB.format(files=", ".join(f"{name}: {name}.npy" for name in x)))
    rows = x if len(x) > 1 else x["a"]
    model.save(f"{folder}/m.keras")
    print("    weights", run("ckpt", "convert", "m.keras", "-o", "m.safetensors") or "read")
    differ("predictions", predict(x, "--ckpt", "m.safetensors"), model.predict(rows, verbose=0))
    print("    training", run("fit", "job.yaml", "--fresh") or "done")
    model.compile(keras.optimizers.SGD(0.01), "mse")
    model.fit(rows, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    trained = predict(x)
    differ("predictions after training", trained, model.predict(rows, verbose=0))
    print("    model", run("export", "job.yaml", "-o", "back.keras") or "written")
    back = keras.saving.load_model(f"{folder}/back.keras", safe_mode=True)
    differ("Keras' predictions", trained, back.predict(rows, verbose=0))
    print("    weights:", model.count_params(), back.count_params())
    print("    model", run("validate", "job.yaml", "model={keras_config: back.keras}") or "read again")

print("MobileNetV3Small")
model, draw = keras.applications.MobileNetV3Small(input_shape=(32, 32, 3), weights=None, classes=4, name="net"), np.random.default_rng(2)
for w in model.weights:
    w.assign(draw.uniform(0.5, 1.5, w.shape) if "variance" in w.path or "gamma" in w.path else w + draw.normal(0, 0.1, w.shape))
x = draw.uniform(0, 255, (4, 32, 32, 3)).astype("float32")
np.save(f"{folder}/a.npy", x)
np.save(f"{folder}/y.npy", np.zeros((4, 4), "float32"))
model.save(f"{folder}/m.keras")
with open(f"{folder}/job.yaml", "w") as f:
    f.write(JOB.format(files=f"{model.layers[0].name}: a.npy"))
print("    weights", run("ckpt", "convert", "m.keras", "-o", "m.safetensors") or "read")
differ("predictions", predict({"a": x}, "--ckpt", "m.safetensors"), model.predict(x, verbose=0))
