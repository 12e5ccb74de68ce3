#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what Keras' random layers make of an image, for factors that are not random: tests/data/augment.json.

    KERAS_BACKEND=numpy tests/golden/record_augmentations.py

A case lists each outcome that a step may have: two where a sign is drawn, one for each place of a rectangle.
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


moves()
colors()
erase((8, 6, 3), 0.25, [0.2, 0.5, 0.9], [0, 1])
erase((4, 4, 1), 0.0625, 2, [0, 1])
erase((2, 3, 3), 1.0, 0.5, [0, 1])
with open("tests/data/augment.json", "w", encoding="ascii") as f:
    f.write(f'{{"format": 1, "area": "augment", "keras": "{keras.__version__}", "about": "random changes of images with factors that are not random: what Keras\' layers may make of one example",\n "cases": [\n  ')
    f.write(",\n  ".join(json.dumps(c, separators=(",", ":")) for c in cases))
    f.write("\n ]}\n")
