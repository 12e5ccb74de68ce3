# SPDX-License-Identifier: Apache-2.0
"""Records keras/NAME.json, models as Keras writes them (model.to_json()), and keras/expected/NAME.json, what they give.

    python -m venv v && v/bin/pip install keras==3.15.0 keras-hub==0.32.0 tensorflow-cpu==2.21.0
    v/bin/python tests/golden/record_keras.py tests/golden/keras [MODEL...]

An expectation has weights by name, inputs by name, outputs in the order of the model's.
"""
import json
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
import keras
import numpy as np
from keras import initializers as I
from keras import layers as L
from keras import regularizers as R

ROWS = 3


def mlp():
    return keras.Sequential([
        keras.Input((3,), name="x"),
        L.Dense(4, activation="relu", kernel_initializer=I.HeNormal(seed=3), kernel_regularizer="l2", bias_regularizer=R.L1(0.02)),
        L.Dropout(0.2, seed=5),
        L.Dense(4, activation="gelu", kernel_initializer=I.VarianceScaling(2.0, "fan_avg", "uniform"), kernel_regularizer=R.L1L2(0.01, 0.03)),
        L.Dense(2, use_bias=False, activity_regularizer=R.L2(0.1), kernel_initializer=I.RandomUniform(-0.5, 0.5, seed=1), name="logits"),
    ], name="small")


def cnn():
    return keras.Sequential([
        keras.Input((8, 8, 2), name="image"),
        L.Rescaling(0.5, offset=-0.25),
        L.Conv2D(4, 3, padding="same", use_bias=False, kernel_regularizer=R.L2(1e-4)),
        L.BatchNormalization(momentum=0.9),
        L.ReLU(max_value=6.0),
        L.MaxPooling2D(),
        L.SeparableConv2D(4, (3, 3), strides=(1, 1), padding="same", activation="relu"),
        L.DepthwiseConv2D(3, padding="same", depth_multiplier=2),
        L.SpatialDropout2D(0.1),
        L.AveragePooling2D(2, strides=2),
        L.ZeroPadding2D(((1, 0), (0, 1))),
        L.Conv2DTranspose(3, 2, strides=2),
        L.LayerNormalization(),
        L.LeakyReLU(0.1),
        L.GlobalAveragePooling2D(keepdims=True),
        L.Flatten(),
        L.Dense(2, name="logits"),
    ])


def recurrent():
    return keras.Sequential([
        keras.Input((5, 3), name="x"),
        L.Bidirectional(L.LSTM(3, return_sequences=True, recurrent_initializer=I.Orthogonal(gain=0.5, seed=2))),
        L.GRU(4, return_sequences=True, activation="relu", recurrent_activation="hard_sigmoid"),
        L.SimpleRNN(3, kernel_regularizer=R.L2(0.1), recurrent_regularizer=R.L1(0.1)),
        L.Dense(1),
    ])


def words():
    return keras.Sequential([
        keras.Input((6,), dtype="int32", name="tokens"),
        L.Embedding(9, 4, mask_zero=True, embeddings_initializer=I.RandomNormal(stddev=0.3)),
        L.Dropout(0.1),
        L.LSTM(3),
        L.Dense(2, activation="softmax"),
    ])


def masked():
    """The same with names for what layers take from: Keras writes the mask down as a layer of its own."""
    tokens = keras.Input((6,), dtype="int32", name="tokens")
    x = L.Embedding(9, 4, mask_zero=True)(tokens)
    x = L.Dropout(0.1)(x)
    x = L.GRU(3, return_sequences=True)(x)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(tokens, L.Dense(2)(x))


def branches():
    tokens = keras.Input((4,), dtype="int32", name="tokens")
    side = keras.Input((3,), name="side")
    a = L.Flatten()(L.Embedding(7, 3)(tokens))
    a = L.Dense(5, activation="tanh")(a)
    b = L.Dense(5, activation=keras.activations.swish)(side)
    x = L.Add()([a, b])
    x = x + L.Dense(5)(x)
    x = L.Concatenate(name="both")([x, side])
    x = L.BatchNormalization()(x)
    kind = L.Dense(3, activation="softmax", name="kind")(x)
    size = L.Dense(1, name="size")(L.Maximum()([a, b]) * b - a)
    return keras.Model([tokens, side], [kind, size])


def attention():
    x = inputs = keras.Input((5, 4), name="x")
    y = L.LayerNormalization(epsilon=1e-6)(x)
    y = L.MultiHeadAttention(2, 3, dropout=0.1)(y, y, use_causal_mask=True)
    x = L.Add()([x, y])
    y = L.RMSNormalization()(x)
    y = L.Dense(8, activation="relu")(y)
    y = L.Dense(4)(y)
    x = L.add([x, y])
    return keras.Model(inputs, L.Dense(2)(L.GlobalMaxPooling1D()(x)))


def cross():
    """Attention to another sequence, with arguments by name in another order and with a mask among the inputs."""
    x, y = keras.Input((4, 3), name="x"), keras.Input((5, 2), name="y")
    allowed = keras.Input((4, 5), dtype="int32", name="allowed")
    y2 = L.Dense(4)(y)
    a = L.MultiHeadAttention(2, 3)(query=x, key=y2, value=y, attention_mask=allowed)
    b = L.MultiHeadAttention(2, 2, value_dim=3)(a, y2, use_causal_mask=True)
    c = L.Attention(use_scale=True, score_mode="concat", dropout=0.2)([L.Dense(4)(b), y2])
    d = L.AdditiveAttention()([c, y2, y2])
    return keras.Model([x, y, allowed], L.Dense(2)(d))


def padded():
    """The same of words. Keras' MultiHeadAttention takes the masks off its inputs, so that each has words of its own."""
    x, y, z = keras.Input((4,), dtype="int32", name="x"), keras.Input((5,), dtype="int32", name="y"), keras.Input((5,), dtype="int32", name="z")
    a, b, c = (L.Embedding(9, 4, mask_zero=True)(words) for words in (x, y, z))
    d = L.MultiHeadAttention(2, 3)(a, b)
    d = L.MultiHeadAttention(2, 3)(d, d, use_causal_mask=True)
    d = L.AdditiveAttention()([d, c])
    d = L.Attention()([d, c], use_causal_mask=True)
    return keras.Model([x, y, z], L.Dense(2)(L.GlobalAveragePooling1D()(d)))


def translation():
    """An encoder and a decoder, whose first states are the encoder's last ones; attention between them, whose shares are an output."""
    question, answer = keras.Input((5,), dtype="int32", name="question"), keras.Input((4, 3), name="answer")
    x = L.Embedding(9, 4, mask_zero=True)(question)
    x, *states = L.Bidirectional(L.LSTM(2, return_sequences=True, return_state=True))(x)
    y, h, c = L.LSTM(2, return_sequences=True, return_state=True)(answer, initial_state=[states[0], states[3]])
    y = L.GRU(2, return_sequences=True)(y, initial_state=L.Add()([h, c]))
    y, shares = L.MultiHeadAttention(2, 3)(y, L.Rescaling(1.0)(x), return_attention_scores=True)
    y, last = L.SimpleRNN(2, return_state=True)(y)
    return keras.Model([question, answer], [L.Dense(2, name="y")(L.Concatenate()([y, last, c])), shares])


def residual():
    """Blocks around attention to padded words. Rescaling makes a copy, whose mask may be removed; the second block normalizes first."""
    x = keras.Input((5,), dtype="int32", name="x")
    a = L.Embedding(9, 4, mask_zero=True)(x)
    b = L.Rescaling(1.0)(a)
    a = L.LayerNormalization()(L.Add()([a, L.MultiHeadAttention(2, 3)(b, b)]))
    b = L.LayerNormalization()(a)
    a = L.Add()([a, L.MultiHeadAttention(2, 3)(b, b)])
    return keras.Model(x, L.Dense(2)(L.GlobalAveragePooling1D()(L.Attention()([a, a]))))


def adaptive():
    image = keras.Input((5, 6, 2), name="image")
    a = L.AdaptiveAveragePooling2D((2, 4))(image)
    b = L.AdaptiveMaxPooling2D(3)(image)
    c = L.AdaptiveMaxPooling1D(5)(L.Reshape((8, 2))(a))
    d = L.AdaptiveAveragePooling1D(4)(L.Reshape((9, 2))(b))
    return keras.Model(image, L.Dense(2)(L.Flatten()(L.Concatenate(axis=1)([c, d]))))


def encoded():
    age, kinds = keras.Input((1,), name="age"), keras.Input((3,), name="kinds", dtype="int32")
    bins = [-0.5, 0.0, 0.8]
    table = L.Flatten()(L.Embedding(4, 2)(L.Discretization(bins)(age)))
    parts = [L.Discretization(bins, output_mode="one_hot")(age), L.CategoryEncoding(5)(kinds), L.CategoryEncoding(5, output_mode="count")(kinds), table]
    return keras.Model([age, kinds], L.Dense(2)(L.Concatenate()(parts)))


def steps():
    """Layers on each step, an equation, and means that adapt() did not compute."""
    return keras.Sequential([
        keras.Input((3, 6, 6, 2), name="frames"),
        L.Normalization(mean=[0.5, -1.0], variance=[2.0, 0.25]),
        L.TimeDistributed(L.Conv2D(3, 2, activation="relu")),
        L.TimeDistributed(L.Flatten()),
        L.TimeDistributed(L.Dense(4, name="own")),
        L.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d", activation="tanh"),
        L.GlobalAveragePooling1D(),
        L.Dense(2),
    ])


def spectral():
    return keras.Sequential([
        keras.Input((6, 6, 2), name="image"),
        L.SpectralNormalization(L.Conv2D(3, 3, activation="relu", name="own")),
        L.SpectralNormalization(L.Conv2DTranspose(2, 2, strides=2), power_iterations=2),
        L.Flatten(),
        L.SpectralNormalization(L.Dense(2)),
    ])


def activations():
    return keras.Sequential([
        keras.Input((4,), name="x"),
        L.Dense(4, activation=keras.activations.elu),
        L.Activation("softsign"),
        L.Dense(4, activation=L.ReLU()),
        L.PReLU(alpha_initializer=I.Constant(0.25)),
        L.ELU(0.5),
        L.Activation(keras.activations.silu),
        L.Softmax(axis=-1),
    ])


def behind():
    """Activations that are layers with arguments."""
    x = keras.Input((4,), name="x")
    a = L.Dense(3, activation=L.LeakyReLU(0.1))(x)
    b = L.Dense(3, activation=L.ELU(0.5), dtype="float32")(a)
    c = L.Activation(L.ReLU(max_value=1.0))(L.Add()([a, b]))
    return keras.Model(x, L.Dense(2, activation=L.LeakyReLU(), name="y")(c))


def shapes():
    return keras.Sequential([
        keras.Input((6, 2), name="x"),
        L.Conv1D(4, 3, padding="causal", dilation_rate=2, groups=2),
        L.GroupNormalization(groups=2),
        L.MaxPooling1D(2),
        L.UpSampling1D(2),
        L.Cropping1D((1, 1)),
        L.Permute((2, 1)),
        L.Reshape((2, -1)),
        L.UnitNormalization(),
        L.Flatten(),
        L.RepeatVector(2),
        L.GaussianNoise(0.1),
        L.GaussianDropout(0.1),
        L.Identity(),
        L.Flatten(),
        L.Dense(1),
    ])


def narrow():
    """Two policies: what a layer computes in goes with it."""
    return keras.Sequential([
        keras.Input((3,), name="x"),
        L.Dense(4, activation="relu", dtype="mixed_bfloat16"),
        L.Dense(2, dtype="float32"),
    ])


def frozen():
    model = mlp()
    model.layers[0].trainable = False
    return model


def joined():
    """Masks of Masking, of both directions, and of two layers added; the mask is one of what Keras writes down."""
    x = keras.Input((6, 3), name="x")
    m = L.Masking(0.5)(x)
    a = L.Bidirectional(L.GRU(2, return_sequences=True), merge_mode="sum")(m)
    b = L.Dense(2)(m)
    return keras.Model({"x": x}, {"y": L.LSTM(2, go_backwards=True, name="y")(L.Add()([a, b]))})


def blocks():
    import keras_hub
    tokens = keras.Input((6,), dtype="int32", name="tokens")
    x = keras_hub.layers.TokenAndPositionEmbedding(9, 6, 4)(tokens)
    x = keras_hub.layers.TransformerDecoder(8, 2, normalize_first=True)(x)
    x = keras_hub.layers.TransformerEncoder(8, 2, activation="gelu")(x)
    return keras.Model(tokens, L.Dense(9, name="logits")(x))


def flowers():
    """docs/coming-from-keras.md"""
    return keras.Sequential([
        keras.Input((3,), name="x"),
        L.Dense(32, activation="relu"),
        L.Dense(3, name="logits"),
    ])


def nested():
    """Models within models: functional, with two inputs and two outputs, sequential, and one in the other."""
    a, b = keras.Input((6, 6, 2)), keras.Input((4,))
    x = L.BatchNormalization(name="bn")(L.Conv2D(3, 3, name="conv")(a))
    x = keras.Sequential([keras.Input((4, 4, 3)), L.Conv2D(2, 2, activation="relu", name="conv"), L.Flatten()], name="inner")(x)
    d = L.Dense(3, activation="tanh", name="d")(b)
    base = keras.Model([a, b], [L.Concatenate()([x, d]), d], name="base")
    base.trainable = False
    image, more = keras.Input((6, 6, 2), name="image"), keras.Input((4,), name="more")
    x, d = base([image, more], training=False)
    head = keras.Sequential([keras.Input((21,)), L.Dense(4, activation="relu", name="d"), L.Dropout(0.2)], name="head")
    return keras.Model([image, more], [L.Dense(2, name="y")(head(x)), L.Add(name="z")([d, L.Dense(3, name="d")(more)])])


def stacked():
    inner = keras.Sequential([keras.Input((5,)), L.Dense(4, activation="relu")], name="inner")
    return keras.Sequential([keras.Input((5,), name="x"), inner, keras.Sequential([keras.Input((4,)), L.Dense(3), L.LayerNormalization()]), L.Dense(2)])


def shared():
    """A model that is called twice, and layers that read their own output."""
    one = keras.Input((5,))
    encoder = keras.Model(one, L.Dense(3, name="last")(L.BatchNormalization(name="bn")(L.Dense(4, activation="relu", name="d")(one))), name="encoder")
    a, b = keras.Input((5,), name="a"), keras.Input((5,), name="b")
    loop, relu = L.Dense(3, name="loop"), L.ReLU(name="relu")
    x, y = encoder(a), encoder(b)
    for _ in range(3):
        x = relu(loop(x))
    return keras.Model([a, b], [L.Subtract(name="gap")([x, y]), L.Dense(1, name="score")(L.Concatenate()([x, y, loop(y)]))])


def augmented(image=None):
    """Layers that work in training only, behind an Input whose values are rescaled before, and the same model without them."""
    x = inputs = keras.Input((8, 8, 3), name="image") if image is None else image
    if image is None:
        x = L.Rescaling(0.5, offset=1.0)(x)
        x = L.RandomFlip("horizontal", seed=3)(x)
        x = L.RandomTranslation(0.1, (-0.2, 0.1), fill_mode="nearest", seed=4)(x)
        x = L.RandomContrast(0.2, seed=5)(x)
    y = L.Add(name="add")([L.Conv2D(3, 3, padding="same", name="conv")(x), x])
    return keras.Model(inputs, L.Dense(3, name="y")(L.Flatten(name="flatten")(y)))


def plain():
    return augmented(keras.Input((8, 8, 3), name="image"))


def late():
    x = keras.Input((8, 8, 3), name="image")
    return keras.Model(x, L.Dense(3)(L.Flatten()(L.RandomFlip()(L.Conv2D(3, 3)(x)))))


def prepared():
    """Layers that make numbers of words and give an image a size, each behind its Input."""
    color, tags, code = keras.Input((1,), name="color", dtype="string"), keras.Input((2,), name="tags", dtype="int64"), keras.Input((1,), name="code", dtype="string")
    image = keras.Input((4, 4, 1), name="image")
    small = L.CenterCrop(1, 2, name="center")(L.Resizing(3, 2, name="small")(image))
    parts = [L.StringLookup(vocabulary=["red", "green", "blue"], output_mode="one_hot", name="lookup")(color)]
    parts += [L.IntegerLookup(vocabulary=[3, 7, 9], output_mode="count", name="count")(tags)]
    parts += [L.Flatten(name="flat")(L.Embedding(5, 5, embeddings_initializer="identity", name="bins")(L.Hashing(5, salt=3, name="hash")(code)))]
    parts += [L.Flatten(name="pixels")(L.Rescaling(0.5, name="half")(small))]
    return keras.Model([color, tags, code, image], L.Dense(15, kernel_initializer="identity", name="y")(L.Concatenate(name="all")(parts)))


def write_prepared(directory):
    """The model, rows for it, and what it makes of them. Needs Keras on TensorFlow."""
    draw, rows = np.random.default_rng(7), 12
    color, code = draw.choice(["red", "green", "blue", "pink"], rows), draw.choice(["a1", "b2", "c3", "d4", "e5"], rows)
    tags, image = draw.integers(3, 11, (rows, 2)), draw.integers(0, 9, (rows, 4, 4, 1))
    model = prepared()
    texts = [keras.ops.convert_to_tensor(v.tolist(), dtype="string")[:, None] for v in (color, code)]
    y = np.asarray(model([texts[0], keras.ops.convert_to_tensor(tags), texts[1], keras.ops.convert_to_tensor(image, dtype="float32")]))
    with open(os.path.join(directory, "augmented", "prepared.json"), "w") as f:
        f.write(model.to_json() + "\n")
    names = ["color", "code", "t0", "t1"] + [f"p{i}" for i in range(16)] + [f"y{i}" for i in range(15)]
    with open(os.path.join(directory, "augmented", "prepared.csv"), "w") as f:
        f.write(",".join(names) + "\n")
        for i in range(rows):
            f.write(",".join(map(str, [color[i], code[i], *tags[i], *image[i].ravel(), *(f"{v:g}" for v in y[i])])) + "\n")


MODELS = [
    mlp,
    cnn,
    recurrent,
    words,
    masked,
    branches,
    attention,
    cross,
    padded,
    translation,
    residual,
    spectral,
    adaptive,
    encoded,
    steps,
    activations,
    behind,
    shapes,
    narrow,
    frozen,
    joined,
    blocks,
    flowers,
    nested,
    stacked,
    shared,
]


def number(x):
    return float(np.format_float_scientific(np.float32(x), unique=True))


def tensor(a):
    a = np.asarray(a)
    data = [number(x) for x in a.ravel()] if a.dtype.kind == "f" else [int(x) for x in a.ravel()]
    return {"shape": list(a.shape), "dtype": str(a.dtype), "data": data}


def fill(model, draw, prefix=""):
    """Values that no initialiser gives, so that none of them can hide a mistake."""
    weights = {}
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            weights.update(fill(layer, draw, f"{prefix}{layer.name}_"))
            continue
        for v in layer.weights:
            positive = v.name == "moving_variance"
            v.assign(draw.uniform(0.5, 1.5, v.shape) if positive else draw.normal(0, 0.4, v.shape))
            path = "/" + v.path
            weights[prefix + path[path.index(f"/{layer.name}/") + 1:]] = tensor(v.numpy())
    return weights


def feed(model, draw):
    rows = {}
    for x in model.inputs:  # the last number of each row of whole ones is 0, which masks leave out
        shape = (ROWS, *x.shape[1:])
        rows[x.name] = draw.integers(0, 7, shape).astype("int32") if x.dtype == "int32" else draw.normal(size=shape).astype("float32")
        if x.dtype == "int32":
            rows[x.name][:, -1] = 0
    return rows


def expect(model, draw):
    weights, rows = fill(model, draw), feed(model, draw)
    outputs = model(rows if len(rows) > 1 else next(iter(rows.values())), training=False)
    outputs = list(outputs.values()) if isinstance(outputs, dict) else outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return {
        "parameters": model.count_params(),
        "trainable": sum(int(np.prod(v.shape)) for v in model.trainable_weights),
        "weights": weights,
        "inputs": {k: tensor(v) for k, v in rows.items()},
        "outputs": [tensor(np.float32(y)) for y in outputs],
    }


def main(directory, *names):
    os.makedirs(os.path.join(directory, "expected"), exist_ok=True)
    for make in [m for m in MODELS if not names or m.__name__ in names]:
        keras.backend.clear_session()
        model = make()
        with open(os.path.join(directory, make.__name__ + ".json"), "w") as f:
            f.write(model.to_json() + "\n")
        with open(os.path.join(directory, "expected", make.__name__ + ".json"), "w") as f:
            json.dump(expect(model, np.random.default_rng(3)), f)
            f.write("\n")


def write_augmented(directory):
    os.makedirs(os.path.join(directory, "augmented"), exist_ok=True)
    for make in (augmented, plain, late):
        keras.backend.clear_session()
        with open(os.path.join(directory, "augmented", make.__name__ + ".json"), "w") as f:
            f.write(make().to_json() + "\n")


if sys.argv[2:] == ["augmented"]:
    write_augmented(sys.argv[1])
elif sys.argv[2:] == ["prepared"]:
    write_prepared(sys.argv[1])
else:
    main(*sys.argv[1:])
