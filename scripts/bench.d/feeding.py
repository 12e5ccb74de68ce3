#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures and records read by dtrain, tf.data and torch's DataLoader: the same files, two threads (DataLoader: processes), batches of 32, one pass in order,
seconds of the clock, the least of ROUNDS interleaved rounds. A first pass, unseen, starts threads and processes.

    feeding.py FEEDING FOLDER [ROUNDS [PICTURES [SIDE]]]

FEEDING is feeding.c, compiled against build/libdtrain.a. FOLDER gets the files: a folder of JPEG files a class, the same files in a TFRecord, and a TFRecord
of 784 floats and a label, and NPY files of 8 floats and a label, which are so small that the time of a batch counts. DataLoader decodes JPEG files by Pillow where it is installed; it has no reader of TFRecords.
"""
import os
import subprocess
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy  # noqa: E402
import tensorflow as tf  # noqa: E402
import torch  # noqa: E402

try:
    from PIL import Image
except ImportError:
    Image = None

program, folder = sys.argv[1:3]
rounds, pictures, side = (int(x) for x in sys.argv[3:] + ["5", "2000", "224"][len(sys.argv) - 3:])
THREADS, BATCH, CLASSES, FLOATS, RECORDS, ROWS = 2, 32, 10, 784, 30000, 300000
tf.config.threading.set_inter_op_parallelism_threads(THREADS)
tf.config.threading.set_intra_op_parallelism_threads(THREADS)


def bytes_feature(b):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[b]))


def int_feature(i):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def picture(random):
    """Smooth patches with noise, which a photograph's share of zero coefficients is nearer to than noise alone."""
    coarse = random.integers(0, 256, (1, side // 16, side // 16, 3)).astype("float32")
    smooth = tf.image.resize(coarse, (side, side), method="bicubic")[0].numpy() + random.normal(0, 6, (side, side, 3))
    return tf.io.encode_jpeg(numpy.clip(smooth, 0, 255).astype("uint8"), quality=90).numpy()


def make():
    random = numpy.random.default_rng(1)
    with tf.io.TFRecordWriter(f"{folder}/jpeg.tfrecord") as w:
        for i in range(pictures):
            jpeg = picture(random)
            os.makedirs(f"{folder}/jpeg/{i % CLASSES}", exist_ok=True)
            with open(f"{folder}/jpeg/{i % CLASSES}/{i}.jpg", "wb") as f:
                f.write(jpeg)
            w.write(example(image=bytes_feature(jpeg), label=int_feature(i % CLASSES)))
    numpy.save(f"{folder}/x.npy", random.normal(size=(ROWS, 8)).astype("float32"))
    numpy.save(f"{folder}/y.npy", random.integers(0, CLASSES, ROWS).astype("int32"))
    with tf.io.TFRecordWriter(f"{folder}/floats.tfrecord") as w:
        for i in range(RECORDS):
            x = tf.train.Feature(float_list=tf.train.FloatList(value=random.normal(size=FLOATS)))
            w.write(example(x=x, label=int_feature(i % CLASSES)))


def dtrain(dataset):
    out = subprocess.run([program, str(THREADS), str(BATCH), "1", dataset], check=True, capture_output=True, text=True).stdout
    return float(out.split()[1])


IMAGE = f"element: {{image: {{shape: [{side}, {side}, 3], dtype: uint8}}, label: {{dtype: int32}}}}, cache: false, num_parallel_calls: {THREADS}, global_batch_size: {BATCH}"


def pass_of(batches):
    start = time.perf_counter()
    for _ in batches:
        pass
    return time.perf_counter() - start


def tuned(data):
    options = tf.data.Options()
    options.threading.private_threadpool_size = THREADS
    return data.batch(BATCH).prefetch(2).with_options(options)


def tf_folder():
    files = sorted(os.path.join(d, f) for d, _, names in os.walk(f"{folder}/jpeg") for f in names)
    labels = [int(f.split("/")[-2]) for f in files]
    read = lambda f, y: (tf.ensure_shape(tf.io.decode_jpeg(tf.io.read_file(f), channels=3), (side, side, 3)), y)  # noqa: E731
    return tuned(tf.data.Dataset.from_tensor_slices((files, labels)).map(read, num_parallel_calls=THREADS))


def tf_jpeg_records():
    form = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def read(record):
        e = tf.io.parse_single_example(record, form)
        return tf.ensure_shape(tf.io.decode_jpeg(e["image"], channels=3), (side, side, 3)), e["label"]
    return tuned(tf.data.TFRecordDataset(f"{folder}/jpeg.tfrecord").map(read, num_parallel_calls=THREADS))


def tf_floats():
    """Whole batches are parsed at a time, which is the fastest way that tf.data has."""
    form = {"x": tf.io.FixedLenFeature([FLOATS], tf.float32), "label": tf.io.FixedLenFeature([], tf.int64)}
    options = tf.data.Options()
    options.threading.private_threadpool_size = THREADS
    records = tf.data.TFRecordDataset(f"{folder}/floats.tfrecord").batch(BATCH)
    return records.map(lambda r: tf.io.parse_example(r, form), num_parallel_calls=THREADS).prefetch(2).with_options(options)


def tf_rows():
    x, y = numpy.load(f"{folder}/x.npy"), numpy.load(f"{folder}/y.npy")
    return tuned(tf.data.Dataset.from_tensor_slices((x, y)))


class Folder(torch.utils.data.Dataset):
    def __init__(self):
        self.files = sorted(os.path.join(d, f) for d, _, names in os.walk(f"{folder}/jpeg") for f in names)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return torch.from_numpy(numpy.array(Image.open(self.files[i]).convert("RGB"))), int(self.files[i].split("/")[-2])


def torch_folder():
    return torch.utils.data.DataLoader(Folder(), batch_size=BATCH, num_workers=THREADS, persistent_workers=True)


def row(what, count, goal, ours, theirs):
    best = {who: float("inf") for who in ["dtrain", *theirs]}
    made = {who: make_one() for who, make_one in theirs.items()}
    for who in made:
        pass_of(made[who])
    for _ in range(rounds):
        best["dtrain"] = min(best["dtrain"], dtrain(ours))
        for who in made:
            best[who] = min(best[who], pass_of(made[who]))
    for who in theirs:
        ratio = best[who] / best["dtrain"]
        print(f"{what:34} dtrain {count / best['dtrain']:9.0f} /s   {who:10} {count / best[who]:9.0f} /s = {ratio:5.2f}   wanted {goal}  "
              f"{'ok' if ratio >= goal else 'MISSED'}", flush=True)


if not os.path.exists(f"{folder}/floats.tfrecord"):
    os.makedirs(folder, exist_ok=True)
    make()
peers = {"tf.data": tf_folder, **({"torch": torch_folder} if Image else {})}
row(f"folder of JPEG, {side} x {side} x 3", pictures, 1.3, f"{{format: image_folder, train: {folder}/jpeg, {IMAGE.replace('dtype: int32', 'num_classes: 10')}}}", peers)
row(f"TFRecord of JPEG, {side} x {side} x 3", pictures, 1.3, f"{{format: tfrecord, train: {folder}/jpeg.tfrecord, {IMAGE}}}", {"tf.data": tf_jpeg_records})
floats = f"element: {{x: {{shape: [{FLOATS}]}}, label: {{dtype: int32}}}}, cache: false, num_parallel_calls: {THREADS}, global_batch_size: {BATCH}"
row(f"TFRecord of {FLOATS} floats", RECORDS, 1.3, f"{{format: tfrecord, train: {folder}/floats.tfrecord, {floats}}}", {"tf.data": tf_floats})
rows = f"train: {{x: {folder}/x.npy, y: {folder}/y.npy}}, num_parallel_calls: {THREADS}, global_batch_size: {BATCH}"
row("NPY of 8 floats", ROWS, 1.3, f"{{format: npy, {rows}}}", {"tf.data": tf_rows})
