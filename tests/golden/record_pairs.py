#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what Keras' random layers make of an image and its mask, for factors that are not random, and the class numbers that Pillow reads from
masks: tests/data/pairs.json.

    KERAS_BACKEND=numpy tests/golden/record_pairs.py

A case of a step lists each outcome that it may have: flips have two or four.
"""
import io
import json
import os

os.environ.setdefault("KERAS_BACKEND", "numpy")
import keras
import numpy as np
from PIL import Image

layers = keras.layers
rng = np.random.default_rng(20261130)
CLASSES = 5
steps, files = [], []


def tensor(x):
    return {"shape": list(x.shape), "dtype": str(x.dtype), "data": [float(str(v)) for v in x.ravel()]}


def pair(shape):
    return rng.random((*shape, 3), dtype=np.float32), rng.integers(0, CLASSES, (*shape, 1)).astype("uint8")


def call(layer, image, mask):
    out = layer({"images": image[None], "segmentation_masks": mask[None].astype("float32")}, training=True)
    return [tensor(np.asarray(out[k])[0].astype(dtype)) for k, dtype in (("images", "float32"), ("segmentation_masks", "uint8"))]


def record(step, layer, shape=(7, 9), outcomes=None):
    image, mask = pair(shape)
    made = [call(layer, image, mask)] if layer else [[tensor(f(image)), tensor(f(mask))] for f in outcomes]
    steps.append({"step": step, "image": tensor(image), "mask": tensor(mask), "out": made})


for fill in ("reflect", "wrap", "nearest", "constant"):
    record(f"random_rotation: {{factor: [0.07, 0.07], fill_mode: {fill}}}", layers.RandomRotation((0.07, 0.07), fill_mode=fill))
    record(f"random_zoom: {{height_factor: [0.3, 0.3], width_factor: [-0.2, -0.2], fill_mode: {fill}}}",
           layers.RandomZoom((0.3, 0.3), (-0.2, -0.2), fill_mode=fill))
    record(f"random_translation: {{height_factor: [0.31, 0.31], width_factor: [0.47, 0.47], fill_mode: {fill}}}",
           layers.RandomTranslation((0.31, 0.31), (0.47, 0.47), fill_mode=fill), (6, 5))
record("random_rotation: {factor: [0.11, 0.11], fill_mode: constant, fill_value: 4}", layers.RandomRotation((0.11, 0.11), fill_mode="constant", fill_value=4))
record("random_brightness: {factor: [0.25, 0.25], value_range: [0, 1]}", layers.RandomBrightness((0.25, 0.25), value_range=(0, 1)))
record("resize: {height: 5, width: 4, interpolation: nearest}", layers.Resizing(5, 4, interpolation="nearest"))
record("center_crop: [4, 5]", layers.CenterCrop(4, 5), (8, 9))
# what the layers choose from, as a flip cannot be forced
flips = [lambda x: x, lambda x: x[:, ::-1], lambda x: x[::-1], lambda x: x[::-1, ::-1]]
record("random_flip: horizontal", None, outcomes=flips[:2])
record("random_flip: horizontal_and_vertical", None, outcomes=flips)
record("random_crop: [5, 8]", None, outcomes=[lambda x, r=r, c=c: x[r:r + 5, c:c + 8] for r in range(3) for c in range(2)])


def palette(mask, bits=8):
    image = Image.fromarray(mask, "P")
    image.putpalette([v % 256 for k in range(2**bits) for v in (k * 9, 255 - k, k * 7)])
    return image


def add(name, image, numbers=None, colors=None, **options):
    file = io.BytesIO()
    image.save(file, name.split("-")[0], **options)
    again = np.array(Image.open(io.BytesIO(file.getvalue()))) if numbers is None else numbers
    case = {"id": name, "file": file.getvalue().hex(), "rows": again.shape[0], "columns": again.shape[1], "numbers": again.astype(int).ravel().tolist()}
    files.append({**case, "colors": colors} if colors else case)


mask = rng.integers(0, 16, (6, 7)).astype("uint8")
large = rng.integers(0, 256, (5, 9)).astype("uint8")
for kind in ("PNG", "BMP", "TIFF", "GIF"):
    add(f"{kind}-palette", palette(large))
    if kind != "GIF":
        add(f"{kind}-grey", Image.fromarray(large, "L"))
        add(f"{kind}-bits", Image.fromarray((mask % 2).astype(bool)))
for bits in (1, 2, 4):
    add(f"PNG-palette{bits}", palette(mask % 2**bits, bits), bits=bits)
add("PNG-grey-alpha", Image.fromarray(np.stack([large, 255 - large], -1), "LA"), large)
for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits"):
    add(f"TIFF-{compression}", palette(mask, 8), compression=compression)
colors = [[0, 0, 0], [128, 0, 0], [0, 128, 0], [224, 224, 192]]
numbers = rng.integers(0, 4, (6, 5))
for kind in ("PNG", "BMP", "TIFF", "WebP"):
    add(f"{kind}-colors", Image.fromarray(np.array(colors, "uint8")[numbers]), numbers, colors, **({"lossless": True} if kind == "WebP" else {}))

with open("tests/data/pairs.json", "w", encoding="ascii") as f:
    f.write(f'{{"format": 1, "keras": "{keras.__version__}", "about": "an image and its mask after Keras\' layers, and class numbers of masks as Pillow reads them",\n "steps": [\n  ')
    f.write(",\n  ".join(json.dumps(c, separators=(",", ":")) for c in steps))
    f.write('\n ],\n "files": [\n  ')
    f.write(",\n  ".join(json.dumps(c, separators=(",", ":")) for c in files))
    f.write("\n ]}\n")
