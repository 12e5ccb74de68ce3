#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps that change images, and decoders of pictures, beside Keras' layers in tf.data and Pillow: the same images, two threads, batches of 32, one
pass in order, images a second, the best of ROUNDS interleaved rounds.

    augmenting.py FEEDING FOLDER [ROUNDS [IMAGES [SIDE]]]

FEEDING is feeding.c, compiled against build/libdtrain.a; FOLDER gets the files. tf.data decodes GIF and BMP; Pillow, in two threads, decodes all four.
"""
import os
import subprocess
import sys
import time
from multiprocessing.pool import ThreadPool

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from PIL import Image  # noqa: E402

program, folder = sys.argv[1:3]
rounds, images, side = (int(x) for x in sys.argv[3:] + ["2", "256", "128"][len(sys.argv) - 3:])
THREADS, BATCH, CLASSES = 2, 32, 10
tf.config.threading.set_inter_op_parallelism_threads(THREADS)
tf.config.threading.set_intra_op_parallelism_threads(THREADS)
rng = np.random.default_rng(1)
coarse = rng.integers(0, 256, (images, side // 16, side // 16, 3)).astype("float32")
x = np.clip(tf.image.resize(coarse, (side, side), method="bicubic").numpy() + rng.normal(0, 6, (images, side, side, 3)), 0, 255).astype("uint8")
y = np.eye(CLASSES, dtype="float32")[np.arange(images) % CLASSES]


def dtrain(dataset):
    out = subprocess.run([program, str(THREADS), str(BATCH), "1", dataset], check=True, capture_output=True, text=True).stdout
    return float(out.split()[1])


def pass_of(batches):
    start = time.perf_counter()
    for _ in batches:
        pass
    return time.perf_counter() - start


def tuned(data):
    options = tf.data.Options()
    options.threading.private_threadpool_size = THREADS
    return data.prefetch(2).with_options(options)


def row(what, ours, who, theirs):
    pass_of(theirs)
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        best = [min(best[0], dtrain(ours)), min(best[1], pass_of(theirs))]
    print(f"{what:14} dtrain {images / best[0]:8.0f} /s   {who:8} {images / best[1]:8.0f} /s = {best[1] / best[0]:6.2f}", flush=True)


np.save(f"{folder}/x.npy", x)
np.save(f"{folder}/y.npy", y)
source = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
for step, layer in (("mixup", keras.layers.MixUp(0.2)), ("cutmix", keras.layers.CutMix()), ("rand_augment", keras.layers.RandAugment())):
    def change(a, b, layer=layer, step=step):
        a = tf.cast(a, "float32")
        if step == "rand_augment":
            return layer(a, training=True), b
        out = layer({"images": a, "labels": b}, training=True)
        return out["images"], out["labels"]
    label = "" if step == "rand_augment" else f", y: [{step}]"
    row(step, f"{{format: npy, train: {{x: {folder}/x.npy, y: {folder}/y.npy}}, map: {{x: [{step}]{label}}}, global_batch_size: {BATCH}}}",
        "tf.data", tuned(source.map(change, num_parallel_calls=THREADS)))

for kind, suffix in (("WebP", "webp"), ("GIF", "gif"), ("BMP", "bmp"), ("TIFF", "tiff")):
    os.makedirs(f"{folder}/{suffix}/a", exist_ok=True)
    files = [f"{folder}/{suffix}/a/{i:05}.{suffix}" for i in range(images)]
    for i, file in enumerate(files):
        image = Image.fromarray(x[i])
        (image.quantize(256) if kind == "GIF" else image).save(file, kind, **({"compression": "tiff_lzw"} if kind == "TIFF" else {}))
    ours = (f"{{format: image_folder, train: {folder}/{suffix}, cache: false, global_batch_size: {BATCH}, "
            f"element: {{image: {{shape: [{side}, {side}, 3]}}, label: {{num_classes: 1}}}}}}")
    decode = {"GIF": lambda b: tf.io.decode_gif(b)[0], "BMP": lambda b: tf.io.decode_bmp(b, channels=3)}.get(kind)
    if decode:
        read = lambda f, decode=decode: tf.ensure_shape(decode(tf.io.read_file(f)), (side, side, 3))  # noqa: E731
        row(kind, ours, "tf.data", tuned(tf.data.Dataset.from_tensor_slices(files).map(read, num_parallel_calls=THREADS).batch(BATCH)))

    class Pool:
        def __iter__(self, files=files):
            with ThreadPool(THREADS) as pool:
                yield from pool.imap(lambda f: np.asarray(Image.open(f).convert("RGB")), files, chunksize=8)
    row(kind, ours, "Pillow", Pool())
