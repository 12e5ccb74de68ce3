#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what Keras' random layers make of an image, for factors that are not random: tests/data/augment.json.

    KERAS_BACKEND=numpy tests/golden/record_augmentations.py

A case lists each outcome that a step may have: two where a sign is drawn, one for each place of a rectangle. Cases of steps that draw more than that
list what becomes of the first examples of a job, from the numbers that dtrain documents to draw for them.
"""
import json
import math
import os

os.environ.setdefault("KERAS_BACKEND", "numpy")
import keras
import numpy as np

layers = keras.layers
rng = np.random.default_rng(20261129)
cases = []


def image(shape, dtype):
    x = rng.random(shape, dtype=np.float32)
    return x if dtype == "float32" else (x * 256).astype(dtype)


def tensor(x, shape):
    return {"shape": list(shape), "dtype": str(x.dtype), "data": [float(str(v)) for v in x.ravel()]}


def record(step, args, shape, dtype, outcomes):
    """outcomes: from an image (rows, columns, channels) to the list of what may become of it."""
    x = image(shape, dtype)
    batch = x.reshape(shape if len(shape) == 3 else (*shape, 1))
    keep = args.get("interpolation") == "nearest"
    made = [np.asarray(y).astype(dtype if keep else "float32") for y in outcomes(batch)]
    text = ", ".join(f"{k}: {json.dumps(v)}" for k, v in args.items()).replace('"', "")
    cases.append({"id": f"augment/{len(cases) + 1:03}-{step}", "in": {"steps": f"[{step}: {{{text}}}]", "x": tensor(x, shape)},
                  "out": [tensor(y, shape) for y in made]})


def both(f):
    return [f, f]


def moves():
    fills = [{"fill_mode": m} for m in ("reflect", "wrap", "nearest")] + [{"fill_mode": "constant", "fill_value": 0.25}]
    sizes = [((7, 9, 3), "float32"), ((8, 5), "float32"), ((6, 6, 2), "uint8"), ((1, 1, 3), "float32"), ((1, 6, 1), "float32"), ((12, 3, 4), "int16")]
    for i, (shape, dtype) in enumerate(sizes):
        for j, fill in enumerate(fills):
            for interpolation in ("bilinear", "nearest"):
                more = {**fill, "interpolation": interpolation}
                pick = lambda *of: of[(i + j) % len(of)]
                angle = pick(0.07, -0.31, 0.46)
                record("random_rotation", {"factor": both(angle), **more}, shape, dtype,
                       lambda x: [layers.RandomRotation(tuple(both(angle)), **more)(x, training=True)])
                down, across = pick(0.3, -0.45, 0.9), pick(-0.2, 0.7)
                record("random_zoom", {"height_factor": both(down), "width_factor": both(across), **more}, shape, dtype,
                       lambda x: [layers.RandomZoom(tuple(both(down)), tuple(both(across)), **more)(x, training=True)])
                down, across = pick(0.31, -0.83), pick(0.47, -0.13, 0.99)
                record("random_translation", {"height_factor": both(down), "width_factor": both(across), **more}, shape, dtype,
                       lambda x: [layers.RandomTranslation(tuple(both(down)), tuple(both(across)), **more)(x, training=True)])
                x_factor, y_factor = pick(0.21, 0.83), pick(0.37, 0.11, 0.0)
                shear = layers.RandomShear(tuple(both(x_factor)), tuple(both(y_factor)), **more)
                record("random_shear", {"x_factor": both(x_factor), "y_factor": both(y_factor), **more}, shape, dtype,
                       lambda x: [np.asarray(shear.transform_images(x[None], {"shear_factor": np.array([[sign * x_factor, sign * y_factor]], "float32")}))[0]
                                  for sign in (1, -1)])
    # one number for both axes
    record("random_zoom", {"height_factor": [0.3, 0.3]}, (5, 7, 3), "float32",
           lambda x: [layers.RandomZoom((0.3, 0.3))(x, training=True)])
    record("random_translation", {"height_factor": [0.3, 0.3]}, (5, 7, 3), "float32",
           lambda x: [layers.RandomTranslation((0.3, 0.3), (0.3, 0.3))(x, training=True)])


def colors():
    """With floats: of integers, Keras' RandomBrightness makes integers that wrap around."""
    for shape, dtype, ends in (((4, 5, 3), "float32", [0, 1]), ((5, 4, 3), "uint8", [0, 255]), ((1, 1, 3), "uint8", [0, 255]), ((3, 3, 3), "float32", [-0.5, 2])):
        value_range = {"value_range": ends}
        for f in (0.0, 0.25, -0.6, 1.0):
            record("random_brightness", {"factor": both(f), **value_range}, shape, dtype,
                   lambda x: [layers.RandomBrightness(tuple(both(f)), **value_range)(x.astype("float32"), training=True)])
        for f in (0.0, 0.3, 1.0):
            record("random_contrast", {"factor": [-f, f], **value_range}, shape, dtype,
                   lambda x: [layers.RandomContrast((-f, f), **value_range)(x.astype("float32"), training=True)])
        for f in (0.0, 0.2, 0.5, 0.7):
            record("random_saturation", {"factor": both(f), **value_range}, shape, dtype,
                   lambda x: [layers.RandomSaturation(tuple(both(f)), **value_range)(x.astype("float32"), training=True)])
        for f in (0.0, 0.2, 0.77, 1.0):
            hue = layers.RandomHue(tuple(both(f)), **value_range)
            record("random_hue", {"factor": both(f), **value_range}, shape, dtype,
                   lambda x: [np.asarray(hue.transform_images(x[None].astype("float32"), {"factor": np.array([s * f * 0.5], "float32")}))[0] for s in (1, -1)][:1 if f == 0 else 2])
    jitter = {"brightness_factor": both(0.1), "contrast_factor": [-0.2, 0.2], "saturation_factor": both(0.4), "hue_factor": both(0.0)}
    record("random_color_jitter", {**jitter, "value_range": [0, 1]}, (4, 5, 3), "float32",
           lambda x: [layers.RandomColorJitter(value_range=(0, 1), **{k: tuple(v) for k, v in jitter.items()})(x, training=True)])
    record("random_brightness", {"factor": both(-0.1)}, (4, 5), "uint8", lambda x: [layers.RandomBrightness((-0.1, -0.1))(x.astype("float32"), training=True)])
    record("random_contrast", {"factor": [-0.4, 0.4]}, (4, 5), "uint8", lambda x: [layers.RandomContrast((-0.4, 0.4))(x.astype("float32"), training=True)])


def erase(shape, scale, fill_value, value_range):
    """A rectangle of a whole number of rows and columns; it begins anywhere in front of one of them."""
    layer = layers.RandomErasing((1.0, 1.0), scale=tuple(both(scale)), fill_value=fill_value, value_range=value_range)
    rows, columns = (round(math.sqrt(scale) * n) for n in shape[:2])

    def outcomes(x):
        made = []
        for r in range(shape[0] - rows or 1):
            for c in range(shape[1] - columns or 1):
                x0, y0 = (c + 0.5 if columns < shape[1] else 0.0), (r + 0.5 if rows < shape[0] else 0.0)
                corners = [np.array([v], "float32") for v in (x0, x0 + columns, y0, y0 + rows)]
                mask = layer._generate_batch_mask((1, *x.shape), corners)
                fill = layer._get_fill_value(x[None].astype("float32"), (1, *x.shape), None)
                made.append(np.asarray(layer.transform_images(x[None], {"apply_erasing": np.array([True]), "batch_masks": mask, "fill_value": fill}))[0])
        return made

    record("random_erasing", {"factor": [1, 1], "scale": both(scale), "fill_value": fill_value, "value_range": value_range}, shape, "float32", outcomes)


class Stream:
    """dtrain's random numbers (lib/base/random.h), written independently: Philox 4x32-10 keyed by seed and purpose."""

    def __init__(self, seed, purpose, stream):
        name = 0xCBF29CE484222325
        for byte in purpose.encode():
            name = (name ^ byte) * 0x100000001B3 % 2**64
        word = self.philox(seed, name, 0)
        self.key, self.stream, self.block, self.words = word[0] | word[1] << 32, stream, 0, []

    @staticmethod
    def philox(key, c0, c1):
        c, k = [c0 % 2**32, c0 >> 32, c1 % 2**32, c1 >> 32], [key % 2**32, key >> 32]
        for _ in range(10):
            a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
            c = [b >> 32 ^ c[1] ^ k[0], b % 2**32, a >> 32 ^ c[3] ^ k[1], a % 2**32]
            k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
        return c

    def u32(self):
        if not self.words:
            self.words = self.philox(self.key, self.block, self.stream)
            self.block += 1
        return self.words.pop(0)

    def u64(self):
        low = self.u32()
        return low | self.u32() << 32

    def uniform(self, low=0.0, high=1.0):
        return low + (high - low) * ((self.u64() >> 11) * 2.0**-53)

    def below(self, n):
        while (x := self.u64()) < 2**64 % n:
            pass
        return x % n

    def beta(self, alpha):
        """Johnk's method, for alpha up to 1."""
        while True:
            x, y = (math.log(self.uniform()) / alpha for _ in range(2))
            if math.exp(x) + math.exp(y) <= 1:
                return 1 / (1 + math.exp(min(y - x, 700)))


def record_drawn(step, args, element, x, outcomes, partner=None):
    """Example k is x[k % len(x)], in a job with seed 1; outcomes: what becomes of the first ones."""
    text = ", ".join(f"{k}: {json.dumps(v)}" for k, v in args.items()).replace('"', "")
    case = {"id": f"augment/{len(cases) + 1:03}-{step}", "in": {"element": element, "steps": f"[{step}: {{{text}}}]", "x": [tensor(v, v.shape) for v in x]}}
    if partner is not None:
        case["in"]["partner"] = [int(k) for k in partner]
    cases.append({**case, "drawn": [tensor(np.asarray(y, "float32"), y.shape) for y in outcomes]})


def rand_augment(shape, dtype, examples, **args):
    """Keras' layer with the transformations that dtrain draws for each example."""
    layer, x = layers.RandAugment(**args), image(shape, dtype)
    # with NumPy, Keras' RandomBrightness changes its argument, and so the image of all other changes
    brighten = layer.random_brightness.transform_images
    layer.random_brightness.transform_images = lambda images, *more: brighten(images.copy(), *more)
    names, (low, high) = layer._AUGMENT_LAYERS, layer.factor
    width = layer.value_range[1] - layer.value_range[0]

    def drawn(name, r):
        f32 = lambda *v: np.array(v, "float32")
        if name == "random_shear":
            sign = -1 if r.u32() >> 31 else 1
            return {"shear_factor": f32(sign * r.uniform(low, high), sign * r.uniform(low, high))[None]}
        if name == "random_translation":
            down = r.uniform(low, high)
            return {"translations": f32(r.uniform(low, high) * shape[1], down * shape[0])[None]}
        if name == "random_rotation":
            return layers.RandomRotation(tuple(both(r.uniform(low, high)))).get_random_transformation(x[None].astype("float32"))
        if name == "random_brightness":
            return {"rgb_delta": f32(r.uniform(low, high) * width).reshape(1, 1, 1, 1)}
        if name == "random_contrast":
            return {"contrast_factor": f32(r.uniform(1 - low, 1 + high)).reshape(1, 1, 1, 1)}
        if name in ("random_color_degeneration", "random_sharpness"):
            return {"factor": f32(r.uniform(low, high)).reshape((1, 1, 1, 1) if name == "random_color_degeneration" else (1,))}
        if name == "random_posterization":
            most = layer.random_posterization.factor[1]
            return {"shift_factor": np.array([8 - (1 + r.below(most - 1) if most > 1 else 1)], "uint8")}
        if name == "solarization":
            return {key: f32(r.uniform(low, 255 * high)).reshape(1, 1, 1, 1) for key in ("additions", "thresholds")}
        return None

    outcomes = []
    for example in range(examples):
        r = Stream(1, "map/rand_augment/x/0", example)
        seed = r.below(2**64 - 1)
        which = [r.below(len(names)) for _ in range(layer.num_ops)]
        transforms = {name: drawn(name, Stream(seed, "rand_augment", i)) for i, name in enumerate(names)}
        with np.errstate(all="ignore"):
            outcomes.append(np.asarray(layer.transform_images(x[None], {"layer_idxes": which, "transforms": transforms}))[0])
    record_drawn("rand_augment", {k: list(v) if isinstance(v, tuple) else v for k, v in args.items()}, "x", [x], outcomes)


def combine(step, layer, args, shape, dtype, weights):
    """Keras' layer for a batch of images and one-hot labels. weights: from a stream to the layer's transformation."""
    n, classes = 6, 4
    x, labels = np.stack([image(shape, dtype) for _ in range(n)]), np.eye(classes, dtype="float32")[rng.integers(0, classes, n)]
    partner = rng.permutation(n)
    transformation = {**weights((n, *shape), [Stream(1, step, k) for k in range(n)]), "permutation_order": partner}
    record_drawn(step, args, "image", list(x), np.asarray(layer.transform_images(x, transformation)), partner)
    record_drawn(step, args, "label", list(labels), np.asarray(layer.transform_labels(labels, transformation)), partner)


def combinations():
    f32 = lambda v: np.array(v, "float32")
    for alpha, dtype in ((0.2, "uint8"), (0.9, "float32"), (0.01, "float32")):
        combine("mixup", layers.MixUp(alpha), {"alpha": alpha}, (4, 3, 3), dtype,
                lambda shape, streams: {"mix_weight": f32([r.beta(alpha) for r in streams])})
    for factor, dtype in (([0.0, 1.0], "uint8"), ([0.3, 0.6], "float32"), ([1.0, 1.0], "int16")):
        layer = layers.CutMix(tuple(factor))

        def cut(shape, streams):
            corners = []
            for r in streams:
                part = math.sqrt(1 - r.beta(min(r.uniform(*factor) + 1e-6, 1)))
                x0 = r.uniform() * (shape[2] - part * shape[2])
                y0 = r.uniform() * (shape[1] - part * shape[1])
                corners.append((x0, x0 + part * shape[2], y0, y0 + part * shape[1]))
            masks, weight = layer._generate_batch_mask(shape, [f32(v) for v in zip(*corners)])
            return {"batch_masks": masks, "mix_weight": weight}

        combine("cutmix", layer, {"factor": factor}, (7, 5, 2), dtype, cut)


moves()
colors()
erase((8, 6, 3), 0.25, [0.2, 0.5, 0.9], [0, 1])
erase((4, 4, 1), 0.0625, 2, [0, 1])
erase((2, 3, 3), 1.0, 0.5, [0, 1])
rand_augment((6, 5, 3), "uint8", 60, num_ops=1)
rand_augment((5, 4, 3), "float32", 60, value_range=(0, 1), num_ops=2, factor=(0.1, 0.9), interpolation="nearest")
rand_augment((4, 4, 3), "float32", 40, value_range=(-0.5, 2), num_ops=3, factor=1.0)
combinations()
with open("tests/data/augment.json", "w", encoding="ascii") as f:
    f.write(f'{{"format": 1, "area": "augment", "keras": "{keras.__version__}", "about": "random changes of images with factors that are not random: what Keras\' layers may make of one example",\n "cases": [\n  ')
    f.write(",\n  ".join(json.dumps(c, separators=(",", ":")) for c in cases))
    f.write("\n ]}\n")
