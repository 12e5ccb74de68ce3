#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fuzzing begins with, all of it: the good files of seeds.py, and files with a fault of each kind that readers tell. Writes them to FOLDER/TARGET/NAME.

    python3 tests/fuzz/seeds_faults.py build/fuzz/work
"""
from seeds import *  # noqa: F403  its files are written, and more are made of them

# ---- what a job says: faults of each kind ----
SPEC = "global_batch_size: 4"
ELEMENT = "element: {x: {column: a}}"
for i, text in enumerate((
        "{format: csv, train: x.csv, " + ELEMENT + ", " + SPEC + "}",
        "{format: csv, train: [x.csv, y.csv], validation: '', field_delim: \"\\\"\", element: {}, " + SPEC + "}",
        "{format: csv, train: [], element: {x: {column: a, columns: [b]}, y: {}, z: {columns: [a, b], shape: [3]}}, " + SPEC + "}",
        "{format: csv, element: {x: {column: a, dtype: string, shape: [1]}, y: {column: b, vocabulary: [p, q]}, z: {column: a, shape: [1,1,1,1,1,1,1,1,1]}}}",
        "{format: csv, train: x, header: false, element: {x: {column: a}, y: {columns: [0, -1], dtype: string}}, " + SPEC + "}",
        "{format: csv, train: x, header: yes, element: 3, take: 0, per_replica_batch_size: 2, validation_split: 0.2, validation: y, " + SPEC + "}",
        "{format: csv, train: x, " + ELEMENT
        + ", shuffle: {buffer_size: 3, seed: 4, reshuffle_each_iteration: false}, prefetch: auto, num_parallel_calls: 3, cache: true, " + SPEC + "}",
        "{format: csv, train: x, " + ELEMENT + ", shuffle: maybe, prefetch: 2000, num_parallel_calls: many, cache: file.cache, last_batch: some, "
        + SPEC + "}",
        "{format: npy, train: {x: a.npy, y: b.npy}, validation: {x: '', z: c.npy}, test: 3, " + SPEC + "}",
        "{format: npy, train: {}, " + SPEC + "}", "{format: idx, " + SPEC + "}",
        "{format: npy, train: {x: a.npz}, map: {x: [rescale: {scale: 0.5}], q: [cast: {dtype: float32}]}, " + SPEC + "}",
        "{format: tfrecord, train: x, element: {}, " + SPEC + "}", "{format: tfrecord, train: x, element: [a], " + SPEC + "}",
        "{format: tfrecord, train: x, " + SPEC + "}",
        "{format: tfrecord, train: x, element: {x: {shape: [2], name: y, dtype: int64, default_value: 1}, p: {shape: [4], padding_value: 0}}, "
        + SPEC + "}",
        "{format: text, train: x.txt, tokenizer: {type: char}, element: {tokens: {shape: [5]}}, " + SPEC + "}",
        "{format: text, train: x.txt, tokenizer: 3, element: {tokens: {shape: [5, 5]}}, " + SPEC + "}",
        "{format: text, train: x.txt, tokenizer: {type: word}, element: {words: {shape: [5]}}, " + SPEC + "}",
        "{format: text, train: x.txt, tokenizer: ~, element: [], " + SPEC + "}",
        "{format: image_folder, element: {image: {shape: [2, 2, 1]}, label: {num_classes: 3}}, " + SPEC + "}",
        "{format: image_folder, train: '', element: {image: {shape: [2, 2, 2]}, label: {num_classes: 3, shape: [1]}}, " + SPEC + "}",
        "{format: image_folder, train: x, element: {image: {shape: [16777216, 16777216]}, label: 4}, " + SPEC + "}",
        "{format: image_folder, train: x, element: {image: {shape: [3, 4], dtype: uint8, interpolation: bilinear}}, " + SPEC + "}",
        "{format: image_folder, train: x, element: {a: {shape: [3, 4]}, b: {shape: [3, 4], interpolation: nearest}}, " + SPEC + "}",
        "{format: image_folder, train: x, " + SPEC + "}",
        "{format: synthetic, examples: 10, validation: 4, element: {x: {shape: [2], dtype: float32}, y: {num_classes: 3}}, " + SPEC + "}",
        "{format: synthetic, examples: 1e3, element: {x: {shape: [2.5], dtype: 3}, y: {num_classes: 0}}, repeat: 1e20, take: 1.5, " + SPEC + "}",
        "{format: parquet, train: x}", "{format: {csv: {}, npy: {}}, train: x}", "{format: [csv]}", "{train: x, batch_size: 3}", "[1]", "3", "",
        "# nothing",
        "{format: CSV, train: x, " + ELEMENT + ", global_batch_size: 010, validation_split: .inf}",
        "{format: csv, compression: gzip, train: ~, validation_split: -.nan}",
        "{format: csv, train: x, " + ELEMENT
        + ", global_batch_size: '4', validation_split: 1, shuffle: 'yes', take: 1e400, repeat: 99999999999999999999}",
        "{format: csv, train: x, element: {x: {column: a, default_value: 1e999, max_bytes: 08}, y: {column: '', dtype: int33}}, globl_batch_size: 4}",
        "{format: csv, train: x, field_delim: '', " + ELEMENT + ", global_batch_size: 0, validation_split: inf}",
        "{format: csv, train: x, field_delim: ab, " + ELEMENT + ", global_batch_size: true, last_batch: ~, format: csv}",
        "{format: csv, train: x, " + ELEMENT + ", global_batch_size: 1.5e0, num_parallel_calls: 0, prefetch: 0}",
        "{format: csv, train: x, " + ELEMENT + ", format: ~, element: ~, global_batch_size: ~}",
        "{map: {x: [one_hot: {num_classes: 3}]}, " + SPEC + "}", "{shuffle: true, train: a, validation: b, test: c, format: npy, " + SPEC + "}",
        "{map: {x: [normalize: {mean: [1, 2], variance: 3}]}, " + SPEC + "}",
        "{map: {x: [normalize: {mean: [], variance: [a]}, text_vectorization: {vocabulary: [a, 3]}]}, " + SPEC + "}")):
    put("data", "form%02d" % i, text)

TOP = {
    "seed": "7", "strategy": "{type: mirrored, replicas: 2}",
    "dataset": "{format: synthetic, examples: 60, element: {image: {shape: [8]}, label: {num_classes: 3}}, global_batch_size: 8}",
    "model": "{layers: [Input: {name: image, shape: [8]}, Dense: {units: 4}, Dense: {units: 3}]}",
    "compile": "{optimizer: {SGD: {learning_rate: 0.05}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}", "fit": "{epochs: 2}",
}
TPU = "{type: tpu, cluster_resolver: {tpu: sim:v3-8}}"
for i, own in enumerate((
        {}, {"version": "2"}, {"backend": "{type: cpu}"}, {"backend": "{type: sim}"}, {"backend": "{type: pjrt}"},
        {"backend": "{type: cpu, plugin: x.so}"}, {"backend": "3"},
        {"reproducible": "{shards: 2}"}, {"reproducible": "{shards: 2, strict: true}"}, {"reproducible": "{}"},
        {"output": "{dir: run, trace: {steps: [1, 3]}, tensorboard: true, report: true}"},
        {"output": "{dir: " + "x" * 300 + ", trace: {steps: [3, 1]}}"},
        {"output": "{dir: a/b, trace: none, tensorboard: 3}"}, {"output": "{trace: {steps: 4}}"},
        {"partition": "{type: spmd, image: {split: [1, 2]}}", "strategy": TPU}, {"partition": "[1]", "strategy": TPU},
        {"partition": "{weights: [{match: '*/kernel', split: [1, 2]}, {match: '{a', split: [1]}, {match: '{a,b}{c,d}{a,b}{c,d}{a,b}{c,d}{a,b}{c,d}', assign: 0}, "
                      "{match: x}, {match: y, replicate: false}, 3]}", "strategy": TPU},
        {"partition": "{values: {dense: {split: [1, 2]}, x: {assign: 1}, y: replicate, z: 3, q: {split: [1], assign: 2}}}", "strategy": TPU},
        {"strategy": "{type: tpu, slices: 2, cluster_resolver: {tpu: sim:v3-8}}"}, {"strategy": TPU, "backend": "{type: cpu}"},
        {"strategy": "{type: mirrored, replicas: 1000000}"},
        {"strategy": "{type: mirrored, devices: ['CPU:0', 'CPU:1', 'CPU:0']}"}, {"strategy": "default"},
        {"strategy": "{type: one_device, device: 'CPU:0'}"},
        {"strategy": "{type: multi_worker_mirrored, workers: 2}"}, {"strategy": "[mirrored]"}, {"strategy": "{mirrored: {}, tpu: {}}"},
        {"dataset": TOP["dataset"].replace("global_batch_size: 8", "per_replica_batch_size: 16777216")},
        {"dataset": TOP["dataset"].replace("image", "picture")}, {"dataset": "~"},
        {"model": "{type: functional, layers: [" + ", ".join("Input: {name: i%d, shape: [2]}" % k for k in range(20))
        + ", Dense: {units: 3, inputs: i0}]}"},
        {"model": "{layers: [Input: {name: '', shape: [8]}, Input: {name: b, shape: [8]}, Dense: {name: 'a/b', units: 3}, Dense: {name: \"x\\u0007\", units: 3}]}"},
        {"model": "{layers: [Dense: {units: 3}, Input: {name: image, shape: [8]}, Dense: {name: image, units: 3}]}"},
        {"model": "{layers: [Input: {name: image, shape: [8]}, Dense: {units: 2000000000}, Dense: {units: 3}]}"},
        {"model": "{layers: [Input: {name: image, shape: [8, 8, 3]}, Conv2D: {filters: 4, kernel_size: [3, 3], strides: 2, padding: same}, Flatten, Dropout: {rate: 1.5}, Dense: {units: 3}]}"},
        {"model": "{keras_config: x.json, layers: []}"}, {"model": "{layers: 3, init_from: a}"},
        {"model": "{init_from: {path: a, skip_mismatch: true}, layers: [Input: {name: image, shape: [8]}, Dense: {units: 3}]}"},
        {"model": "{init_from: {path: a, names: torch, map: {'^e(.*)': 'd\\\\1', 'a(': 3}, skip: ['a{9}', b], freeze: [dense, x]}, layers: [Input: {name: image, shape: [8]}, Dense: {units: 3}]}"},
        {"model": "{init_from: [a], layers: [Input: {name: image, shape: [8]}, Dense: {units: 3}, {A: 1, B: 2}, [x], Densee: {units: 3}]}"},
        {"model": "{init_from: ~, rematerialize: full, layers: [Input: {name: image, shape: [8]}, Repeat: {for: {i: 2}, layers: [Dense: {units: 8}]}, Dense: {units: 3}]}"},
        {"compile": "{optimizer: {Adam: {gradient_accumulation_steps: 2}}, loss: mse, metrics: [accuracy, nothing]}",
        "fit": "{epochs: 2, accumulate_gradients: 3}"},
        {"compile": "{optimizer: {SGD: {learning_rate: {PiecewiseConstantDecay: {boundaries: [1, 2], values: [0.1, 0.2, 0.3]}}}}, loss: {MeanSquaredError: {}}}"},
        {"compile": "{optimizer: {SGD: {learning_rate: {PiecewiseConstantDecay: {boundaries: [], values: 3}}}}, loss: [a]}"},
        {"compile": "{optimizer: {SGD: {learning_rate: -.inf}}, loss: SparseCategoricalCrossentropy, loss_weights: 2}"},
        {"compile": "{optimizer: [SGD], loss: {}}"},
        {"fit": "{epochs: 0}"}, {"fit": "{epochs: '3'}"},
        {"fit": "{epochs: 1e3, validation_freq: 07, callbacks: [EarlyStopping: {monitor: loss}, CSVLogger: {filename: ../x}]}"},
        {"fit": "{epochs: 010, callbacks: [ModelCheckpoint: {filepath: 'x{what}', save_freq: 3}, ModelCheckpoint: {filepath: a.keras}, ModelCheckpoint: {filepath: a, save_weights_only: true}]}"},
        {"fit": "{callbacks: [TensorBoard: {update_freq: 3, histogram_freq: 1}, TensorBoard: {write_images: true}, ReduceLROnPlateau: {factor: 2}, LearningRateScheduler: {}]}"},
        {"name": "a", "checkpoint": "{every_steps: 3, keep: 2}", "let": "{a: 1}", "unknown": "3", "sed": "1"}, {"seed": "1e400"}, {"seed": "-1"},
        {"seed": "18446744073709551616"}, {"fit": None}, {"model": None})):
    whole = dict(TOP, **own)
    put("job", "fault%02d" % i, "".join("%s: %s\n" % (key, value) for key, value in whole.items() if value is not None))
    for purpose in range(5):
        if i % 5 == purpose:
            put("job", "fault%02d-%d" % (i, purpose), "#%d\n" % purpose + "".join("%s: %s\n" % (key, value) for key,
                value in whole.items() if value is not None))
NINE = "[1, 1, 1, 1, 1, 1, 1, 1, 1]"
for i, text in enumerate(("{format: synthetic, examples: 3, element: {x: {shape: %s}}, global_batch_size: 1}",
    "{format: tfrecord, train: x, element: {x: {shape: %s}}, global_batch_size: 1}",
                          "{format: text, train: x, element: {tokens: {shape: %s}}, global_batch_size: 1}",
                          "{format: image_folder, train: x, element: {x: {shape: %s}}, global_batch_size: 1}")):
    put("data", "nine%d" % i, text % NINE)
for i, layers in enumerate(("Input: {name: image, shape: %s}", "Input: {name: image, shape: [1]}, Reshape: {target_shape: %s}",
    "Input: {name: image, shape: [1]}, Permute: {dims: %s}")):
    put("job", "nine%d" % i, "".join("%s: %s\n" % (key, value) for key, value in dict(TOP, model="{layers: [" + layers % NINE + "]}").items()))

# ---- each reader's own faults ----
ABC = b"a,b,c\n"
for how, rows in ((0, (ABC + b"1,2,3\n4,5,6\n", b"a,b,c\n1,2,3\n-----\na,b,c\n4,5,6\n", ABC + b"1,\"2\n\",3\r\n4,5,6\r",
    ABC + b"1," + b"9" * 500 + b",3\n", ABC + b" 1 ,\t2,3\n,1,2\n",
                       gzip.compress(ABC + b"1," + b"2" * (3 << 19), mtime=0), gzip.compress(ABC + b"1,\"" + b"2\n" * (1 << 20), mtime=0), b"",
                           b"\xff\xfea\0", b"\xef\xbb\xbfa,b,c\n1,2,3\n",
                       b"a,b\n1,2\n", b"a,a,c\n1,2,3\n", ABC + b"1,2\n", ABC + b"1,2,3,4\n", ABC + b"1e999,2,3\n",
                       ABC + b"1,2,99999999999999999999\n", ABC, b"\n\n")),
                  (1, (b"1,2,3\n4,5,\n", b"1,2\n")), (2, (b"a;b;c\n1;2;red\n3;255;green\n", b"a;b;c\n1;256;red\n", b"a;b;c\n1;2;blue\n")),
                  (3, (b"a,b,c,d\n1,2,,4\n",)), (4, (ABC + b"1,2,3\n",)),
                  (5, (b"a,b\nto,\nbe,3\n", b"a,b\nto,3\nlonger than nine,3\n", b"a,b\nto,3\nbe,4\n", b"a,b\nto\0,3\n")),
                  (6, (ABC + b"1,-128,32767\n0,127,-32768\n", ABC + b"2,0,0\n", ABC + b"1,200,0\n", ABC + b"1,0,40000\n")),
                  (7, (b"a,b\nw0,2\nw9,1\n", b"a,b\nw0,3\n"))):
    for i, data in enumerate(rows):
        put("csv", "rows%d-%02d" % (how, i), bytes([how]) + data)
for i, (a, b) in enumerate((({"seed": 1.5}, {"seed": 2}), ({"seed": 1.5}, {"seed": 1.5}),
    ({"fit": 1, "a": [1, 2, {"b": 1}]}, {"output": 2, "a": [1, 2, {"b": 2}]}),
                            ({"a": [1]}, {"a": [1, 2]}), ({"a": 1}, {"a": 1, "b": 2}), ({"a": None}, {}), ({"name": 1}, {"name": 2}))):
    put("difference", "two%d" % i, json.dumps(a) + "\n" + json.dumps(b))
put("difference", "half", "{\n")
put("example", "many", field(1, b"".join(feature("%x" % i, 3, b"") for i in range(4100))))
put("example", "wide", field(1, feature("x", 3, field(1, varint(3))) + feature("y", 2, field(1, struct.pack("<f", 2)))))
for i, text in enumerate(("loss<1\naccuracy>=0.5\n", "los<1", "val_loss<1", "learning_rate==0.05\nloss==nan", "\n".join(["loss<1"] * 40))):
    put("expect", "words%d" % i, text)
for i, text in enumerate((b"", b"a: 1\n-----\nb: 2\n", b"extends: other.yaml\n-----\n", b"name: a\nlet: {x: 3}\n-----\nlet: {y: 4}\nname: ~\n")):
    put("extends", "small%d" % i, text)
put("guess", "empty", gzip.compress(b"", mtime=0))
put("guess", "columns", ",".join("c%d" % i for i in range(5000)) + "\n" + ",".join("1" for i in range(5000)) + "\n")
put("guess", "texts", "a,b\n" + "".join("w%d,1\n" % i for i in range(1200)))
put("guess", "fields", "a,b\n1,2\n1\n")
put("guess", "features", b"".join(record(field(1, feature("f%d" % i, 3, field(1, varint(i))))) for i in range(300)))
for how in range(256):
    if how % 16 in (2, 6, 10, 14):
        put("gzip", "ways%02x" % how, bytes([how, how & 63]) + b"the same bytes, the same bytes, the same bytes")
put("gzip", "stored", b"\0\1stored as they are")
put("gzip", "typed", b"\1\1line\nline\n")
for i, lines in enumerate(('{"step":10}\n{"step":20}\n', '{"step":10}\n[1]\n{}\n{"step":"x"}\n', "\n\n", "")):
    put("history", "lines%d" % i, lines)


def number(key, value):
    return varint(key << 3) + varint(value)


def shape(dtype, dims, packed=True, parts=()):
    sizes = field(3, b"".join(varint(d) for d in dims)) if packed else b"".join(number(3, d) for d in dims)
    return number(2, dtype) + (sizes if dims else b"") + b"".join(field(4, p) for p in parts)


def instruction(opcode, id_, of=b"", operands=b"", backend=b""):
    return field(2, field(2, opcode) + field(3, of) + number(35, id_) + operands + (field(43, backend) if backend else b""))


def module(*instructions):
    return field(1, field(3, b"".join(instructions)))


CYCLES = b'{"a":1,"estimated_cycles":"1234","b":2}'
for i, data in enumerate((
        module(instruction(b"parameter", 1, shape(11, [2, 3])), instruction(b"all-reduce", 2, shape(11, [2, 3]), number(36, 1)),
            instruction(b"while", 3, backend=CYCLES)),
        module(instruction(b"parameter", 1, shape(16, [4], False)),
            instruction(b"all-gather-start", 2, shape(99, []), field(36, varint(1) + varint(7)))),
        module(instruction(b"tuple", 1, shape(13, [], True, [shape(11, [2]), shape(5, [3], False)])),
            instruction(b"collective-permute", 2, b"", number(36, 1))),
        module(instruction(b"parameter", 1, b"\x1a\x02\x80\x80"), instruction(b"all-to-all", 2, b"", number(36, 1))),
        module(instruction(b"all-reduce", 1, b"", field(36, b"\x80"))), module(instruction(b"x", 1, backend=b'"estimated_cycles":"')),
            module(instruction(b"x", 1, backend=b'{"cycles":"1"}')),
        field(1, b""), b"\x0a\x05\x00", b"\x09" + bytes(8) + b"\x0d" + bytes(4), b"\x0b", b"\xff" * 11)):
    put("hlo", "module%02d" % i, data)
DEEP = shape(11, [1])
for _ in range(20):
    DEEP = shape(13, [], True, [DEEP])
put("hlo", "deep", module(instruction(b"tuple", 1, DEEP), instruction(b"reduce-scatter", 2, b"", number(36, 1))))
for i, text in enumerate(("0one/a.png\ntwo/b.png\nthree/c.jpeg\n", "1a/1.png\na/2.png\nb/3.png\nb/4.png\n", "2one/a.png\ntwo/b.PNG\nthree/c.jpg\n",
    "3t/one/a.png\nv/one/b.png\n",
                          "3t/one/a.png\nv/two/b.png\n", "0one/a.txt\ntwo/b.png\nthree/c.png\n", "0one/\ntwo/\nthree/\n", "1a/1.png\n", "0a\nb\nc\n",
                          "3t/one/.a.png\nv/one/b.png\n")):
    put("image_folder", "ways%d" % i, text)
for i, text in enumerate(("kill:core=3@step=1\nhbm=1GiB\nhbm=2MiB\nslow-link:x=1,y=1,z=0@step=5*2.5", "kill:core=4@step=1", "slow-link:x=5@step=9",
    "slow-link:y=2,z=1@step=51*3", "hbm=2GiB\nhbm=1GiB", "nan@step=0")):
    put("inject", "lines%d" % i, text)
put("json", "number", '{"a":17}')
put("json", "escape", '{"b\\n":1,"b\\n":2}')
put("json", "open", '{"a":"\\')
put("json", "heavy", '{"a":[' + "0," * 2000 + "0]}")
for i, text in enumerate(("pid 1 on h since 2025 boot b\n", "pid 4412 on h since 2025 boot b", "pid -1 on h since x boot y\n", "")):
    put("lock", "text%d" % i, text)
for i, (descr, dims) in enumerate((("|O", "(3,)"), ("<f4", "(99999999999999999999,)"), ("<f4", "(1,1,1,1,1,1,1,1,1)"),
    ("<f4", "(4294967296, 4294967296, 4)"), ("<f4", "(4611686018427387904, 1)"),
                                   ("<f4", "()"), ("<f4", "(0, 3)"), ("<f4", "(3, 0)"), ("<f4", "(-3,)"), ("<u8", "(3,)"), ("<f4", "(3L, 2L)"),
                                   ("[('a', '<f4')]", "(3,)"))):
    put("npy", "shape%02d" % i, npy(descr, dims, b"\xff" * 24))
    put("npy", "packed%02d" % i, gzip.compress(npy(descr, dims, b"\xff" * 24), mtime=0))
    for job in (0, 1, 128):
        put("stream", "npy%02d-%d" % (i, job), bytes([job]) + npy(descr, dims, b"\xff" * 24))
GRID = npy("<f4", "(3, 2)", bytes(24), True)
for name, data in (("fortran", GRID), ("long", npy("<f4", "(3, 2)", bytes(32))), ("short", npy("<f4", "(3, 2)", bytes(20))),
    ("huge", npy("<f4", "(70000, 1000)", b"", True)),
                   ("vast", npy("<f4", "(700000, 1000)", b"")), ("page", npy("|u1", "(2200000,)", bytes(2200000))),
                   ("turned", npy("|u1", "(2, 1100000)", bytes(2200000), True)), ("empty", b"")):
    put("npy", name + "-packed", gzip.compress(data, mtime=0))
    if len(data) < 4096:
        put("npy", name, data)
    put("stream", name, b"\0" + gzip.compress(data, mtime=0))
    put("stream", name + "-stdin", b"\x80" + gzip.compress(data, mtime=0))
BIG = idx(8, (3, 2), b"1" * 6)
for name, data in (("long", BIG + b"x"), ("short", BIG[:-1]), ("single", idx(8, (), b"1")), ("none", idx(8, (0,), b"")),
    ("narrow", idx(8, (3, 0), b"")), ("empty", b"")):
    put("idx", name, data)
    put("idx", name + "-packed", gzip.compress(data, mtime=0))


def zip64(data, at=None):
    """A member whose sizes and place are too large for 32 bits, as far as the directory says."""
    crc, name = zlib.crc32(data), b"x.npy"
    local = struct.pack("<IHHHHHIIIHH", 0x04034b50, 45, 0, 0, 0, 33, crc, 0xffffffff, 0xffffffff, len(name), 0) + name + data
    extra = struct.pack("<HHQQQ", 1, 24, len(data), len(data), 0)
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 45, 45, 0, 0, 0, 33, crc, 0xffffffff, 0xffffffff, len(name), len(extra), 0, 0, 0, 0,
        0xffffffff) + name + extra
    end64 = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, 1, 1, len(entry), len(local))
    locator = struct.pack("<IIQI", 0x07064b50, 0, len(local) + len(entry) if at is None else at, 1)
    return local + entry + end64 + locator + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 1, 1, 0xffffffff, 0xffffffff, 0)


for name, data in (("wide", zip64(npy("<f4", "(3, 2)", bytes(24)))), ("outside", zip64(bytes(9), 1 << 40)), ("nowhere", zip64(bytes(9), 3)),
    ("short", zip64(bytes(9)).replace(b"\1\0\x18\0", b"\1\0\x08\0"))):
    for target in ("zip", "npz", "weights", "guess"):
        put(target, "zip64-" + name, data)
for name, data in (("p", b"P"), ("text", b"no archive"), ("none", b"")):
    put("zip", "no-" + name, data)
    put("npz", "no-" + name, data)
put("zip", "large", struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0, 0, 0x7fffffff, 0, 0))
for i, text in enumerate((b"", b"123456789", b"-9223372036854775808", b"\xff\xfe", b"\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9", b"caf\xc3\xa9")):
    put("number", "text%d" % i, text)
for i, text in enumerate(("fit\n--seed\n3", "fit\n--seed=-1", "fit\n--seed=18446744073709551616", "fit\n--color\nalways", "fit\n--color=purple",
    "fit\n--quiet=3", "fit\n--workers\n2", "fit\n-qz",
                          "fit\nDTRAIN_seed=4\nDTRAIN_color=never\nDTRAIN_threads=x", "fit\n--tpu",
                          "plan\nj.yaml\n--what-if\ntpu=v4-8\n--what-if=let.a=1", "data\nconvert\nx\n-o\ny", "fti", "fit\n--expct", "run", "-h",
                          "--version", "config\nshow", "fit\n--seed", "fit\n-n", "fit\n-n3x", "fit\n--time\n1d", "fit\n--threads=0")):
    put("options", "more%02d" % i, text)
for i, text in enumerate(("x", "=3", "fit.callbacks.0=1", "model.layers.7=1", "model.layers.Dense.units=3", "seed.a=1", "." * 5 + "=1",
    ".".join("a" * 70) + "=1", "fit..epochs=2", "fit.epochs.=2", "strategy=[\n",
                          "fit.callbacks=[]\nfit.callbacks.0=1", "seed=3\nseed=4", "compile.loss.MeanSquaredError=~", "=", "a b=1",
                          "fit={epochs: 1}\nfit.epochs=3")):
    put("override", "more%02d" % i, text)
for i, text in enumerate(("x*\na\n", "a*\na1\na2/\n", "[\n[\n", "b/*\nb/1\nb/2\n",
    "train-?????-of-00002\ntrain-00000-of-00002\ntrain-00001-of-00002\n")):
    put("paths", "more%d" % i, text)
for i, (text, value) in enumerate((("{loss}", 0.001), ("{loss}", 1e22), ("{loss}", 1e15), ("{loss}", 123456.5), ("{loss}", float("inf")),
    ("{loss}", float("nan")), ("{loss}", -float("inf")), ("{loss}", 0.0),
                                   ("{loss}", -0.0), ("{loss:9.3f}{epoch:5d}{epoch:+d}", -2.5), ("{loss:1000f}", 1.0), ("{a:b}", 1.0),
                                   ("{" + "n" * 99 + "}", 1.0), ("{loss:.0f}}", 1e-7), ("x}", 1.0), ("{loss:e}", 0.0),
                                   ("{loss:012.4f}", -1.5), ("{epoch:04d}", 100.0), ("{loss:g}{loss:.3g}", 1e-10))):
    put("pattern", "more%02d" % i, text.encode() + b"\n" + struct.pack(">d", value))
    put("pattern", "less%02d" % i, text.encode() + b"\n" + struct.pack("<d", value)[::-1])
FEW = [("wall_s", v) for v in (5e-4, 0.5, 30, 1800, 90000, 1e17, -1)]
MANY = "".join('{"event": "steps", "step": %d, "n": 1, "loss": %s, "loss_min": 0.1, "loss_max": 3}\n' % (i,
    "null" if i % 97 == 5 else i % 13) for i in range(1, 1100))
put("record", "long", START + MANY + END)
put("record", "times", START + "".join('{"event": "epoch", "epoch": %d, "step": %d, "wall_s": %s, "examples": 8, "waited_s": %s, "peak_rss_bytes": 1e9, "metrics": {"loss": %s}, "t": %s}\n'
                                      % (i, i, v, v, v, v if v > 0 else 1) for i, (_, v) in enumerate(FEW)) + END)
put("record", "again", START + DATA + START.replace('"generation": 0', '"generation": 1') + DATA.replace("1" * 64, "4" * 64) + END)
put("record", "other", START.replace('"job": "{', '"job": "[')
    + '{"event": "checkpoint", "step": 2, "t": 1}\n{"event": "steps", "step": 2, "n": 0, "t": 1}\n' + "x\n[1]\n{\n" + END)
put("record", "ends", END + '{"event": "start"}\n{"event": "start", "a": }\n{"event": "data"}\n{"event": "data", "part": "train"}\n{"event": "data", "part": "train"}\n')
put("record", "data", START + DATA + DATA.replace("1" * 64, "5" * 64))
put("record", "names", START + '{"event": "eval", "step": 1, "epoch": 1, "examples": 4, "metrics": {' + ", ".join('"m%d": %d' % (i,
    i) for i in range(400)) + '}, "t": 2}\n')
put("record", "twice-key", '{"event": "eval", "event": "eval", "step": 1}\n{"event": "text", "text": "' + "é" * 3000 + '", "t": 1}\n')
put("record", "markup", START + '{"event": "text", "text": "a&b\\"c\'d<e>\\u0007\\ud800", "t": 2}\n{"event": "text", "text": 3}\n{"event": "text"}\n' + '{"event": "epoch", "step": 1e999}\n{"event":"epoch","a":[[{}]],"b":tru}\n')
put("records", "large", b"\0" + struct.pack("<QI", 1 << 40, crc32c(struct.pack("<Q", 1 << 40))) + b"x")
put("records", "fixed", b"\2abcdef")
put("records", "odd", b"\3hhABCDEabcdeffff")
OP = {"id": "q", "kind": "measured-op", "measured": 3, "unit": "s"}
for i, (config, unit) in enumerate((({"op": "nothing", "chip": "v4"}, "s"), ({"op": "matmul bf16 64^3"}, "s"), ({"op": "matmul bf16", "chip": "v4"}, "s"),
        ({"op": "HBM copy", "chip": "v4"}, "s"), ({"op": "HBM copy f32 64x64", "chip": "v4"}, "days"), ({"op": "AllGather_X bf16[64,8]", "slice": "mesh X8"}, "s"),
        ({"op": "AllGather_X bf16[B_X,8]", "slice": "v5e mesh X8 Y4"}, "s"), ({"op": "psum bf16[B_Y=64,D=32]", "slice": "v5e mesh X8 Y4"}, "GB/s"))):
    put("rows", "ask%02d" % i, json.dumps({"rows": [dict(OP, config=config, unit=unit)]}))
put("rows", "others", json.dumps({"rows": [1, [], {"id": 3}]}))
X = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
for i, (header, data) in enumerate((({"x": dict(X, dtype=3)}, 16), ({"x": dict(X, shape=3)}, 16), ({"x": dict(X, shape=[1] * 9)}, 16),
    ({"x": dict(X, shape=[-1, 2])}, 16), ({"x": dict(X, shape=["a"])}, 16),
                                    ({"x": dict(X, data_offsets=[1])}, 16), ({"x": dict(X, shape=[1 << 62, 1 << 62])}, 16), ({"x": 3}, 16),
                                    ({"x": dict(X, more=1)}, 16), ({"x": {"dtype": "F32"}}, 16),
                                    ({"__metadata__": 3}, 0), ({"__metadata__": {"a": 3}}, 0), ({"x": X, "y": dict(X, data_offsets=[8, 24])}, 24),
                                    ({"x": X, "y": dict(X, data_offsets=[20, 36])}, 36),
                                    ({"x": X, "y": X}, 16), ({"x": X}, 20), ({"x": dict(X, dtype="F64", shape=[2])}, 16),
                                    ({"x": dict(X, dtype="I32", shape=[4])}, 16), ({"x": dict(X, shape=[4])}, 16),
                                    ({"x": X, "y": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]}}, 24),
                                    ({"x": dict(X, data_offsets=[16, 0])}, 16), ({"x": dict(X, data_offsets=[0, 99])}, 16), ({"xx": X}, 16),
                                    ({"z": {"dtype": "F16", "shape": [0], "data_offsets": [0, 0]}, "x": dict(X, shape=[0], data_offsets=[0, 0])}, 0),
                                    ({"X": X, "y": {"dtype": "I32", "shape": [3], "data_offsets": [16, 28]}}, 28),
                                    ({"x": {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]},
                                    "y": {"dtype": "I32", "shape": [3], "data_offsets": [24, 36]}}, 36), ([1], 0))):
    for target in ("safetensors", "weights"):
        put(target, "header%02d" % i, safetensors(header, bytes(data)))
put("safetensors", "length", struct.pack("<Q", 1 << 40) + bytes(20))
put("safetensors", "limit", struct.pack("<Q", 17 << 20) + bytes(20))
put("safetensors", "pickle", b"\x80\x05" + bytes([1] * 14))
put("safetensors", "cut", b"\2\0\0")
TWICE = io.BytesIO()
with zipfile.ZipFile(TWICE, "w") as z:
    for name in ("x.npy", "x.npy"):
        z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), npy("<f4", (3, 2), bytes(24)))
put("weights", "twice", TWICE.getvalue())
put("weights", "near", safetensors({"x1": {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]}}, bytes(24)))
put("npz", "twice", TWICE.getvalue())
STATES = {"files": ('"%s"' % ("0" * 64), "3"), "callbacks": ('"job":', '"callbacks":3,"job":'),
    "seed": ('"seed":"7"', '"seed":"99999999999999999999"'), "quotes": ('"seed":"7"', '"seed":7'),
          "format": ('"format":1', '"format":2'), "none": ('"format":1,', ""), "sums": ('[1,null,2.5]', '{}'), "sum": ('[1,null,2.5]', '["a"]'),
          "step": ('"step":3', '"step":-3'), "slash": ("model.safe", "../model.safe"),
          "other": ("model.safetensors", "modem.safetensors"), "third": ('"weights_sha256"', '"files2":{},"weights_sha256"'),
          "map": ('"job":', '"map":"{}","job":'), "wall": ("1.5", '"x"'),
          "three": ('"optimizer.safetensors"', '"callbacks.safetensors":"' + "9" * 64 + '","optimizer.safetensors"'), "short": ("9" * 64, "9"),
          "finished": ("false", "3")}
for name, (old, new) in STATES.items():
    text = (STATE % ("0" * 64, "1" * 64, "2" * 64, "3" * 64, "")).replace(old, new, 1)
    put("state", "fault-" + name, text + ', "sha256": "' + hashlib.sha256(text.encode()).hexdigest() + '"}\n')
for i, text in enumerate(("ckpt/step-00000003.tmp/x\nckpt/step-00000003.tmp.1/x\n",
    "ckpt/step-00000001/state.json\n" * 1 + "".join("ckpt/step-%08d/state.json\n" % k for k in range(2, 14)), "ckpt/\n", "x\n")):
    put("steps", "more%d" % i, text)
for job, rows in ((2, (b"a,b,c\n1,2,3\n4,5,6\n", b"a,c\n1,2\n", b"a,b,c\n1,2,x\n", b"a,b,c\n1,2\n")), (3, (b"1;2\n3;4\n", b"1\n")),
    (4, (b"1,2,3\n4,5,6\n4,,6\n", b"1,2\n")), (0, (b"p,q\n1,2\n", b"1,2\n3,4\n", b"1,2,3\n", b"p\n")),
                  (6, (b"a,b\nto be,1\nor,2\n", b"a\nmuch longer than nine\n", b'{"x": "to be"}\n{"x": "be"}\n', b'{"x": 3}\n',
                  b'{"x": "much longer than nine"}\n', npy("<f4", "(3, 2)", bytes(24)))), (7, (b"x\n", b'{"x": "to"}\n')),
                  (8, (b"a\n0\n1\n", b"a\n2\n", b'{"x": 1}\n{"x": 5}\n')),
                  (9, (b'{"a": true, "b": 255, "c": -128, "d": 32767, "e": 7, "f": 9, "g": 0.5}\n',
                  b'{"a": 2, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}\n', b'{"a": 0, "b": 256, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}\n',
                       b'{"a": 0, "b": 1.5}\n', b'{"a": 0, "b": 1, "c": 200}\n', b'{"a": 0, "b": 1, "c": 1, "d": 99999}\n',
                           b'{"a": 0, "b": 1, "c": 1, "d": 1, "e": 1e12}\n', b'{"a":0,"b":1,"c":1,"d":1,"e":1,"f":1e17}\n',
                       b'{"a":0,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1e308}\n', b"a,b,c,d,e,f,g\n1,2,3,4,5,6,7\n")),
                  (1, (b'{"x": [1, 2], "y": 3}\n\n{"x": [1, "a"], "y": 3}\n', b'{"x": [1, 2, 3], "y": 3}\n', b'{"x": [1], "y": 3}\n', b'{"y": 3}\n',
                  b'{"x": \n', b'{"x": 1e400}\n', npy("<f4", "(3, 2)", bytes(24)),
                       npz({"x.npy": npy("<f4", (3, 2), bytes(24)), "y.npy": npy("<i4", (2,), bytes(8))}),
                           npz({"x.npy": npy("<u8", (1, 2), b"\xff" * 16), "y.npy": npy("<i4", (1,), bytes(4))}))),
                  (5, (b"".join(record(field(1, feature("x", 2, field(1, struct.pack("<2f", 1, 2))) + feature("y", 3,
                  field(1, varint(i))))) for i in range(3)), record(b"\xff"), record(b""), record(field(1, feature("x", 3, b"\1"))))),
                  (0, (npy("<f4", "(3, 2)", bytes(24), True), npy("<f4", "(3, 2)", bytes(20), True), npy("<u8", "(2, 2)", b"\xff" * 32, True),
                  npy("<f4", "(3, 2)", bytes(25)), idx(13, (3, 2), bytes(24)), b"PK\3\4", b"none of them", b""))):
    for i, data in enumerate(rows):
        put("stream", "job%d-%02d-%02x" % (job, i, zlib.crc32(data) & 255), bytes([job]) + data)
        put("stream", "stdin%d-%02d-%02x" % (job, i, zlib.crc32(data) & 255), bytes([128 + job]) + data)
LETS = ("n\nd\n\n", "n\nd\n{units}\n", "n\nd\n{word}x\nv", "n\nd\n{list}\n", "n\nd\nx{list}\n", "n\nd\n${DTRAIN_FUZZ:-{name}}\n\x07",
    "n\nd\n" + "${A:-" * 40 + "x" + "}" * 40 + "\n", "{word}\n{name}\nx\ny", "n\n{run_dir}\n\n", "-\nd\n\n", "\nd\n\n",
        "n\nd\n{unts}\n", "n\nd\n{zzzzzz}\n", "n\nd\n" + "{word}" * 500 + "\n" + "y" * 2000)
for i, text in enumerate(LETS):
    put("substitute", "more%02d" % i, text)
TEXT = "to be or not to be, that is the question\n"
for i in range(3):
    for tokens in (0, 128):
        how = (i - tokens) % 3 + tokens
        for k, data in enumerate((TEXT.encode(), b"to\xff", b"", b"a", b"\xf0\x9f\x98\x80 to be or not\n" * 3,
            gzip.compress(TEXT.encode(), mtime=0))):
            put("text", "how%d-%d" % (how, k), bytes([how]) + data)
for i, text in enumerate(("v4:2x2x1\nworker\n-\n-", "v3-8\nbad job\n", "v5e-4", "v6e:4x4", "local", "local\nv3-8", "-\nv3-8\n-\n-", "-\nmine\n-\n-",
    "-\n-\nv4-16\n2x2x2", "-\n-\nv4-16\n4x4x4", "-\n-\nv4-16\nx", "-\n-\nv9-16", "v4:9x9x9", "v4:4x4x7_twisted",
                          "v4:99999999999999999999x2", "v4:4294967296x4294967296x4294967296", "v4:2", "v4:0x2", "v5e:3x5", "v3-0", "v3-7", "4x4",
                          "4xx", "v2-512_twisted", "v" * 40 + "-8", "CPU:0\nCPU:1\nCPU:0", "CPU:99999", "CPU:9999999999",
                          "CPU:0/CPU:1", "/job:a/job:b/CPU:0", "/task:1/task:2/CPU:0", "/job:worker/CPU:0", "GPU:0", "/job:/CPU:0", "/job:a-b/CPU:0",
                          "XPU:0", "CPU", "CPU:x", "/" + "x" * 80, "/task:0", "CPU:1\nCPU:2")):
    put("topology", "more%02d" % i, text)


def proto(mesh, tasks, devices, coordinates):
    def numbers(xs):
        return b"".join(varint(x) for x in xs)
    return field(1, numbers(mesh)) + number(2, tasks) + number(3, devices) + field(4, numbers(coordinates))


for i, data in enumerate((proto((2, 2, 1, 1), 1, 4, (0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0)), proto((200, 1, 1, 1), 1, 1, (199, 0, 0, 0)),
    proto((2, 2, 1, 1), -1, 4, ()), proto((2, 2, 1, 1), 1, -4, ()),
                          proto((2, 2, 1, 1), 1, 1, (-1, 0, 0, 0)), proto((2, 2, 1), 1, 1, (0,) * 4), proto((2, 2, 1, 0), 1, 1, (0,) * 4),
                              proto((2, 2, 1, 1), 1, 1, (0,) * 100 + (-1,)), proto((1, 1, 1, 1), 1, 2, (0,) * 8))):
    put("topology_proto", "more%d" % i, data)
put("trace", "long", b"\1" + b'{"traceEvents": [' + b"1," * 2000 + b"1]}")
SAID_WORDS = b"x\nto be or not to be\nto be to be\n" + b" ".join(b"w%d" % i for i in range(40)) + b"\n"
for how in range(12):
    put("words", "how%02d" % how, bytes([how]) + SAID_WORDS[:60] + b"\nw1 w2 w3\n")
    put("words", "many%02d" % how, bytes([how]) + b"x\n" + b"".join(b"w%d v%d\n" % (i, i) for i in range(800)))
    put("words", "end%02d" % how, bytes([how]) + b"x\nto. be \n\n \"\"\n")
for i, text in enumerate(("a: '", "a: \"b\n\nc\"\nd: 'e''f'\n", "[" * 70, "&a [*a]",
    "a: &a [1,2,3]\n" + "\n".join("k%d: [*a, *a]" % k for k in range(30)), "<<: {a: 1}\n", "a: 1\n---\nb: 2\n", "a: 1\n...\n",
    "%YAML 1.2\n---\na: 1\n", "!t a", "", "# x\n", "{a: 1}}\n",
                          "? a\n: b\n", "a: *b\n", "a: 1\na: 2\n", "1: 2\n[a]: b\n", "- - - a\n", "a: |+\n  b\n\n", "\t", "\ufeffa: 1\n", "a: \x85b",
                          "'a", "{'a'", "\"a\\\"", "a: 'it''s' # c\n\"k\": v\n", "x: &a {b: &c [*a, *c]}\n")):
    put("yaml", "more%02d" % i, text.encode())
LEVELS = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n" + "".join("a%d: &a%d [%s]\n" % (i, i, ",".join(["*a%d" % (i - 1)] * 10)) for i in range(1, 9))
put("yaml", "bomb", LEVELS)
for variant in range(3):
    for i, kept in enumerate((KEPT, {}, {"learning_rate": "-inf"}, [1],
        {"CSVLogger": {"size": -1}, "ReduceLROnPlateau": {"cooldown": 3, "wait": 9}, "TensorBoard": {"train": [3, {"name": "x"}]}},
        {"learning_rate": "nan", "ReduceLROnPlateau": {"best": "nan"}})):
        put("callbacks", "job%d-%d" % (variant, i), str(variant) + json.dumps(kept))
for i, more in enumerate(("let: {name: 1, run_dir: 2, 'a b': 3, unsed: 4}\n", "let: {units: 4, list: [1, 2], unit: ~}\nname: 'x{list}'\n",
    "let: [1]\noutput: {dir: [1]}\n", "let: {i: 3, w: {a: [1, '{i}']}}\noutput: '{w}'\n",
                          "let: {i: 3}\nfit: {epochs: '{i}'}\n", "let: {unused: 3, used: 4}\noutput: {dir: '{used}'}\n", "name: 'no name'\n",
                          "output: {dir: 'x{nothing}'}\n")):
    body = dict(TOP, model="{layers: [Input: {name: image, shape: [8]}, Repeat: {for: {i: 2}, layers: [Dense: {units: 8, name: 'd_{i}'}]}, Dense: {units: 3}]}")
    if more.startswith("let") and "fit" in more:
        del body["fit"]
    put("job", "let%d" % i, "".join("%s: %s\n" % pair for pair in body.items()) + more)
    put("job", "let%d-plan" % i, "#4\n" + "".join("%s: %s\n" % pair for pair in body.items()) + more)
for i, more in enumerate(("strategy: {type: tpu, slices: 2, cluster_resolver: {tpu: sim:v3-8}}",
    "model: {type: functional, layers: [" + ", ".join("Input: {name: i%d, shape: [2]}" % k for k in range(40))
    + ", Dense: {units: 3, inputs: i0}]}")):
    key = more.split(":")[0]
    put("job", "more%d" % i, "".join("%s: %s\n" % pair for pair in TOP.items() if pair[0] != key) + more + "\n")
for i, text in enumerate(("data\nsynth\ndigits\n--seed\n7", "data\nsynth\ndigits\n--seed=-1", "data\nsynth\ndigits\n--seed=99999999999999999999",
    "data\nsynth\nx\nDTRAIN_seed=3", "fit\nDTRAIN_threads=3", "fit\nDTRAIN_steps=x")):
    put("options", "data%d" % i, text)
for seconds in (0.0005, 1800, 90000):
    put("record", "took%d" % seconds, START + END.replace('"t": 3', '"t": %s' % seconds))
put("record", "quotes", START.replace("a<b", "a\\\"b'&") + END)
put("record", "state", (lambda text: text + ', "sha256": "' + hashlib.sha256(text.encode()).hexdigest() + '"}\n')(STATE % ("0" * 64, "1" * 64,
    "2" * 64, "3" * 64, "")))
put("guess", "both", "a,b\n1,2\n-----\na,c\n3,4\n")
put("guess", "other", b"a,b\n1,2\n\n-----\n" + npy("<f4", "(3, 2)", bytes(24)))
put("guess", "named", npy("<f4", "(3, 2)", bytes(24)) + b"\n-----\n" + npy("<i4", "(3,)", bytes(12)))
put("yaml", "large", "a: 1 # " + "x" * 57)
put("csv", "named", b"\7a,b\nw0,2\nw1,1\n-----\na,b\nw9,0\n")
put("steps", "left", "ckpt/step-00000003.tmp/x\nckpt/step-00000004.tmp\nckpt/strange\nckpt/.hidden\n")
put("history", "typed", '{"step":20}\n{"step":3}\n')
put("gzip", "lines", b"\0\1one\ntwo\n")
