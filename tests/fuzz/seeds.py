#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fuzzing begins with: small good files of every kind, made here. Writes them to FOLDER/TARGET/NAME.

    python3 tests/fuzz/seeds.py build/fuzz/work

What was found from there on, cut down to what covers something of its own, is tests/fuzz/corpus.
"""
import gzip
import hashlib
import io
import json
import os
import struct
import sys
import zipfile
import zlib

FOLDER = sys.argv[1]


def put(target, name, data):
    os.makedirs(os.path.join(FOLDER, target), exist_ok=True)
    with open(os.path.join(FOLDER, target, name), "wb") as f:
        f.write(data.encode() if isinstance(data, str) else data)


# ---- arrays ----

def npy(descr, shape, data, fortran=False, version=1):
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    pad = 64 - (len(header) + 11 if version == 1 else len(header) + 13) % 64
    header = (header + " " * pad + "\n").encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data


def npz(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members.items():
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, compress_type=method)
    return out.getvalue()


def idx(code, shape, data):
    return struct.pack(">HBB", 0, code, len(shape)) + b"".join(struct.pack(">I", n) for n in shape) + data


TYPES = {"|u1": 1, "|i1": 1, "|b1": 1, "<i2": 2, ">i2": 2, "<u2": 2, "<i4": 4, ">u4": 4, "<i8": 8, "<u8": 8, "<f2": 2, "<f4": 4, ">f4": 4, "<f8": 8}
for i, (descr, size) in enumerate(TYPES.items()):
    rows = bytes(k % 2 if descr == "|b1" else 7 * k % 60 for k in range(6 * size))
    put("npy", "type%d" % i, npy(descr, (3, 2), rows, i % 2 == 1, 1 + i % 3))
    put("guess", "npy%d" % i, npy(descr, (3, 2), rows))
for code, size in ((8, 1), (9, 1), (11, 2), (12, 4), (13, 4), (14, 8)):
    data = idx(code, (3, 2), bytes(k % 50 for k in range(6 * size)))
    put("idx", "type%d" % code, data)
    put("idx", "gzip%d" % code, gzip.compress(data, mtime=0))
for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
    one = npz({"x.npy": npy("<f4", (3, 2), bytes(24))}, method)
    two = npz({"y.npy": npy("<i4", (3,), bytes(12)), "x.npy": npy("<f4", (3, 2), bytes(24))}, method)
    for target in ("npz", "zip", "weights", "guess"):
        put(target, "one%d" % method, one)
        put(target, "two%d" % method, two)
put("zip", "empty", npz({}))

# ---- models that Keras wrote ----

MODELS = "tests/golden/keras"
for name in sorted(os.listdir(MODELS)):
    if name.endswith(".json"):
        with open(os.path.join(MODELS, name)) as f:
            put("keras", name[:-5], f.read())
with open(os.path.join(MODELS, "flowers.json")) as f:
    put("keras", "archive", npz({"metadata.json": b"{}", "config.json": f.read().encode()}, zipfile.ZIP_DEFLATED))

# ---- records ----


def crc32c(data):
    c = 0xFFFFFFFF
    for b in data:
        c ^= b
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", crc32c(head)) + data + struct.pack("<I", crc32c(data))


def varint(x):
    out = b""
    x &= (1 << 64) - 1
    while x > 127:
        out += bytes([x & 127 | 128])
        x >>= 7
    return out + bytes([x])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(name, kind, values):
    return field(1, field(1, name.encode()) + field(2, field(kind, values)))


def example(i, packed):
    floats = struct.pack("<4f", i, i + 1, i + 2, i + 3)
    x = field(1, floats) if packed else b"".join(b"\x0d" + floats[4 * k:4 * k + 4] for k in range(4))
    y = field(1, varint(i - 1)) if packed else b"\x08" + varint(i - 1)
    p = field(1, b"".join(varint(k) for k in range(i + 1)))
    return field(1, feature("x", 2, x) + feature("y", 3, y) + feature("raw", 1, field(1, bytes([i, i, i]))) + feature("p", 3, p))


for packed in (False, True):
    file = b"".join(record(example(i, packed)) for i in range(3))
    put("example", "packed%d" % packed, example(2, packed))
    put("tfrecord", "plain%d" % packed, file)
    put("tfrecord", "gzip%d" % packed, gzip.compress(file, mtime=0))
    put("tfrecord", "zlib%d" % packed, zlib.compress(file))
    put("records", "tfrecord%d" % packed, b"\0" + file)
    put("guess", "tfrecord%d" % packed, file)
    put("stream", "tfrecord%d" % packed, file)
for how in range(4):
    put("records", "lines%d" % how, bytes([how]) + b"one\ntwo\r\n\nthree")
    put("records", "gzip%d" % how, bytes([how]) + gzip.compress(b"one\ntwo\r\n\nthree", mtime=0))
for how in range(32):
    put("gzip", "how%02d" % how, bytes([how, 100]) + b"the same bytes, the same bytes, the same bytes")
put("gzip", "file", b"\0\0" + gzip.compress(b"a" * 1000, mtime=0))
put("gzip", "two", b"\0\0" + gzip.compress(b"a", mtime=0) + gzip.compress(b"b", mtime=0))
put("gzip", "plain", b"\0\0plain")

# ---- text ----
CSV = ("a,b,c,d\n1,2,3,4\n5,-6.5,7,8\r\n\n\"1\",\"2\",3,4\n", "1,2,3\n4,5,\n\"6\",7,8", "a;b;c\n1;2;red\n3;4;\"green\"\n",
       "a,b,c,d\n1,,3,4\n5,6,7,\n")
for how, data in enumerate(CSV):
    put("csv", "how%d" % how, bytes([how]) + data.encode())
    put("csv", "mark%d" % how, bytes([how]) + b"\xef\xbb\xbf" + data.encode())
    put("csv", "quotes%d" % how, bytes([how]) + data.replace("2", '"2""\n"').encode())
    put("guess", "csv%d" % how, data)
    put("stream", "csv%d" % how, data)
put("text", "text", "To be, or not to be: äöü € \U0001F600\n" * 2)
for i, line in enumerate(('{"x": [1, 2], "y": 3}', '{"y": 1, "x": [[1.5, 2e0]]}', '[1, 2, 3]', '[[1, 2], 3]')):
    put("stream", "json%d" % i, line + "\n" + line + "\n")
put("stream", "npy", npy("<f4", (3, 2), bytes(24)))
put("stream", "npz", npz({"x.npy": npy("<f4", (3, 2), bytes(24)), "y.npy": npy("<f4", (3,), bytes(12))}))
put("stream", "idx", idx(8, (3, 3), bytes(9)))

# ---- pictures ----


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(color, depth, channels, interlace=0, more=b""):
    bits = 7 * depth * channels
    rows = b"".join(bytes([y % 5]) + bytes((y * 31 + k) % 256 for k in range((bits + 7) // 8)) for y in range(5 if not interlace else 20))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 7, 5, depth, color, 0, 0, interlace)) + more
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


PALETTE = chunk(b"PLTE", bytes(range(48)))
for i, form in enumerate(((0, 8, 1), (0, 2, 1), (0, 16, 1), (2, 8, 3), (2, 16, 3), (4, 8, 2), (6, 8, 4), (6, 16, 4), (0, 8, 1, 1), (6, 8, 4, 1),
                          (3, 4, 1, 0, PALETTE), (3, 4, 1, 0, PALETTE + chunk(b"tRNS", bytes(range(16)))), (0, 8, 1, 0, chunk(b"tRNS", b"\0\1")))):
    for channels in range(3):
        put("png", "form%02d-%d" % (i, channels), bytes([channels]) + png(*form))
    put("stream", "png%02d" % i, png(*form))

# Drawn like the PNGs, and written by libjpeg.
JPEG = {
    "grey":
        "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d3c3933383740485c4e40445745373850"
        "6d51575f626768673e4d71797064785c656763ffc0000b080005000701011100ffc40014000100000000000000000000000000000003ffc40020100000050305000000000000"
        "000000000001020511130003041221223151ffda0008010100003f004b89d848c8b7b3e09a202f07d2ee600ef7f6bfffd9",
    "colour":
        "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d3c3933383740485c4e40445745373850"
        "6d51575f626768673e4d71797064785c656763ffdb0043011112121815182f1a1a2f634238426363636363636363636363636363636363636363636363636363636363636363"
        "636363636363636363636363636363636363ffc00011080005000703012200021101031101ffc4001500010100000000000000000000000000000002ffc4001e100002010305"
        "000000000000000000000001020003041105123151a1ffc4001501010100000000000000000000000000000102ffc4001e110001030403000000000000000000000001000203"
        "04112131516171ffda000c03010002110311003f00abe7a5a4284a16e8c7607cb744918f398888d24627883e4c9f4a8a8b441818362faecf2bffd9",
    "progressive":
        "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d3c3933383740485c4e40445745373850"
        "6d51575f626768673e4d71797064785c656763ffc2000b080005000701011100ffc40014000100000000000000000000000000000002ffda00080101000000015fffc4001610"
        "01010100000000000000000000000000030102ffda0008010100010502a7811fffc40017100100030000000000000000000000000011000102ffda0008010100063f02bd893f"
        "ffc40017100003010000000000000000000000000000214131ffda0008010100013f2181f2ca7fffda00080101000000107fffc4001910000203010000000000000000000000"
        "00013100112151ffda0008010100013f104e6b75601ef67fffd9",
    "restarts":
        "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d3c3933383740485c4e40445745373850"
        "6d51575f626768673e4d71797064785c656763ffc0000b080005000c01011100ffc4001500010100000000000000000000000000000304ffc400221000000504010500000000"
        "0000000000000102030511000412132221315161a1ffdd00040001ffda0008010100003f005337593333ab7fa376ac784e332600efd7cd7fffd08caf2e2b90864d64ad800230"
        "4912880fbe523f6bffd9",
    "print":
        "ffd8ffe000104a46494600010100000100010000ffee000e41646f626500640000000000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d"
        "3c3933383740485c4e404457453738506d51575f626768673e4d71797064785c656763ffc000140800050007044311004d11005911004b1100ffc40016000101010000000000"
        "0000000000000000030204ffc400221000010402010403000000000000000000010203041105210012133151224181ffda000e0443004d0059004b00003f004731d0b0d857a7"
        "f63bdda09f85f4dda80f3bf7c4cbca6f0329987122b4b5ada0e971db228950ae915ebcdfe732b79597916cb6ca9309a24e98042c8bb16abbd57d55ef92c467b2e9409f2dc792"
        "91a4504a6f7be9142f677e79ffd9",
}
for name, data in JPEG.items():
    put("stream", "jpeg-" + name, bytes.fromhex(data))
    for channels in range(3):
        put("jpeg", "%s%d" % (name, channels), bytes([channels]) + bytes.fromhex(data))

# Written by Pillow: tests/golden/record_pictures.py.
with open(os.path.join(os.path.dirname(__file__), "../golden/pictures.json")) as f:
    for i, case in enumerate(json.load(f)["cases"]):
        if len(case["file"]) <= 4096:
            put(case["id"].replace(",", " ").split()[0], "pillow%02d" % i, bytes([i % 3]) + bytes.fromhex(case["file"]))

# ---- weights and checkpoints ----


def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


GOOD = {"__metadata__": {"format": "pt"}, "x": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "y": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]}, "z": {"dtype": "BF16", "shape": [0], "data_offsets": [24, 24]}}
for target in ("safetensors", "weights"):
    put(target, "good", safetensors(GOOD, bytes(24)))
    put(target, "one", safetensors({"x": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}, bytes(16)))
STATE = ('{"format":1,"generation":0,"step":3,"epoch":1,"epoch_step":1,"finished":false,"seed":"7","wall_s":1.5,"sums":[1,null,2.5],"files":'
         '{"model.safetensors":"%s","optimizer.safetensors":"%s"},"weights_sha256":"%s","kernels":"none","job_sha256":"%s",'
         '"job":"{\\"seed\\":7}"%s')
for name, more in (("plain", ""), ("callbacks", ',"callbacks":"{}"')):
    text = STATE % ("0" * 64, "1" * 64, "2" * 64, "3" * 64, more)
    put("state", name, text + ', "sha256": "' + hashlib.sha256(text.encode()).hexdigest() + '"}\n')
LINES = '{"epoch":1,"step":10,"loss":0.5,"accuracy":0.75}\n{"epoch":2,"step":20,"loss":null,"val_loss":1e-3}\n'
put("history", "two", LINES)
put("history", "torn", LINES + '{"epoch":3,"st')
START = ('{"event": "start", "v": 1, "time": "2026-11-22T11:03:10Z", "name": "a<b", "job_sha256": "%s", "seed": "7", "generation": 0, "step": 0, "steps": 4, "epochs": 2, '
         '"parameters": 9, "peak_bytes": 64, "train_examples": 8, "resumed": false, "strategy": "tpu", "device": "sim:v3-8", "replicas": 8, "slice": "v3-8", '
         '"simulated": true, "cores_per_chip": 2, "computation_shape": [1, 1, 1, 1], "computation_stride": [1, 1, 1, 1], "order": 0, '
         '"host": {"name": "h", "cores": 2, "memory_bytes": 4096}, "job": "{\\"seed\\": 7, \\"fit\\": {\\"epochs\\": 2}}", '
         '"config": "seed: 7 # job.yaml:1\\nfit: # default\\n", "t": 0.1}\n' % ("3" * 64))
STEPS = '{"event": "steps", "step": 2, "n": 2, "examples": 8, "loss": 0.5, "loss_min": 0.25, "loss_max": 1, "learning_rate": 1e-3, "seconds": 0.25, "virtual_s": 1e-5, "t": 1}\n'
EPOCH = '{"event": "epoch", "epoch": 1, "step": 2, "wall_s": 0.5, "examples": 8, "waited_s": 0, "peak_rss_bytes": 4096, "metrics": {"loss": 0.5}, "t": 2}\n'
EVAL = '{"event": "eval", "step": 2, "epoch": 1, "examples": 4, "metrics": {"val_loss": null, "val_accuracy": 0.75}, "t": 2}\n'
DATA = ('{"event": "data", "part": "train", "files": 2, "bytes": 96, "hashed": "whole", "sha256": "%s", "first": [{"path": "x", "what": "x", "bytes": 48, "modified": 1, '
        '"sha256": "%s"}], "t": 1}\n' % ("1" * 64, "2" * 64))
SAID = ('{"event": "warning", "text": "it grew", "t": 2}\n{"event": "callback", "step": 2, "epoch": 1, "callback": "ReduceLROnPlateau", "text": "caf\\u00e9", "t": 2}\n'
        '{"event": "text", "text": "\\u202e<b>", "t": 2}\n{"event": "fault", "step": 3, "text": "nan", "t": 2}\n')
END = '{"event": "end", "step": 4, "exit": 79, "error": "the loss is not finite", "finished": false, "stopped_early": false, "weights_sha256": null, "t": 3}\n'
put("record", "run", START + STEPS + EPOCH + EVAL + DATA + SAID + END)
put("record", "twice", START + STEPS + START.replace('"step": 0', '"step": 1').replace("false, \"strategy",
    "true, \"strategy") + DATA.replace("1" * 64, "5" * 64) + END)
put("record", "torn", START + DATA + EPOCH[:-30])
put("record", "history", LINES)
put("trace", "packed", '\x01{"traceEvents": []}\n')
put("trace", "plain", '{"traceEvents": []}\n')
put("trace", "other", "\x01no recording")
put("difference", "one", '{"seed":7,"model":{"layers":[{"Dense":{"units":4}}]},"fit":{"epochs":2}}\n{"seed":7,"model":{"layers":[{"Dense":{"units":5}}]}}')

# ---- words ----
for name in ("v3-8", "sim:v3-8", "v4:4x4x8_twisted", "v5e-256", "V5P:2x2x2", "v4:2x2x1_untwisted", "local", ""):
    put("topology", name.replace(":", "-") or "none", name)
for i, name in enumerate(("CPU:0", "/cpu:0", "/device:CPU:0", "/job:worker/replica:0/task:1/device:TPU:3")):
    put("topology", "device%d" % i, name)
for i, text in enumerate(("kill:core=5@step=120", "slow-link:x=1,y=2,z=0@step=50*4", "nan@step=7", "hbm=8GiB", "hbm=512.5MiB")):
    put("inject", "form%d" % i, text)
for i, text in enumerate(("val_accuracy>=0.94", " loss < 1e-3 ", "a==1", "b<=-2.5", "c>+3")):
    put("expect", "form%d" % i, text)
for i, text in enumerate(("*.npy\nx.npy", "train-{0,1{2,3}}-[a-z]?\ntrain-12-bc", "{a,b}{c,d}\nac", "model/*/kernel\nmodel/dense/kernel")):
    put("glob", "form%d" % i, text)
EXPRESSIONS = ("^encoder\\.(.*)\nenc/\\1\nencoder.fc1.weight", "a|(b)\n<\\0\\1\\9>\nxa", "a(\n\nb", "(a)\\1\nb\nc", "a{3}\n\naaa", "[[:alpha:]]+\n\\\\\nab1",
               "a" * 257 + "\n\nb", "(a|b)*c?$\n-\nabab")
for i, text in enumerate(EXPRESSIONS):
    put("expression", "form%d" % i, text)
HDF5_NAMES = ("layers\ndense_1 fc\nvars\n0\n2", "layers\nlstm encoder\ncell lstm_cell\nvars\n1\n3", "layers\nbatch_normalization\nvars\n0\n3",
              "model_weights\ndense\ndense\nkernel:0\n2", "lstm_1\nlstm_1\nlstm_cell_4\nbias:0\n3", "optimizer\nvars\n0\n9", "vars\n0\n1",
              "layers\nthing\nvars\nx\n7", "a\n" * 14, "x", "layers\ndropout\nseed_generator\nvars\n0\n1")
for i, text in enumerate(HDF5_NAMES):
    put("hdf5_names", "form%d" % i, text)
for i, text in enumerate(("seed=3", "model.layers.1.Dense.units=64\nfit.epochs=", "compile.optimizer.Adam.learning_rate=0.01", "let.width=8",
                          "dataset={format: npy}", "model.layers.0=[1, {a: 'b'}]", "fit.callbacks=[{EarlyStopping: {monitor: loss}}]")):
    put("override", "form%d" % i, text)
for i, text in enumerate(("run\nout/{name}\n4", "a\n${HOME:-x}/{name}\n{run_dir}/x", "n\n${X:-${Y:-{name}}}\n{width}", "x\n{{\n${")):
    put("substitute", "form%d" % i, text)
for i, text in enumerate(("fit\njob.yaml\n--steps\n5\n-n3\n--expect=loss<1", "plan\n--tpu\nv3-8\n--json", "data\nsynth\ndigits\n-o\nx",
    "evaluate\n-C\n.\nj",
                          "fit\n--time\n1h30m\n--\n--x", "topology\n--tpu=v4:2x2x2\n--cores-per-chip\n2", "help\nfit")):
    put("options", "form%d" % i, text)
for i, text in enumerate(("1e-3", "-17", "+.5E+3", "9223372036854775807", "-9223372036854775808", "1e999", "4.9e-324", "0.1")):
    put("number", "form%d" % i, text)
put("json", "deep", "{\"a\":" + "[" * 80 + "]" * 80 + "}")
put("json", "twice", '{"a":1,"a":2}')
put("json", "inner", '{"b":{"a\\"":1,"a\\"":2}}')
put("json", "list", "[1]")
put("yaml", "forms", "a: &x [1, 'two', \"thr\\u00e9e\", ~]\nb: *x\nc: |\n  text\n  more\nd: >-\n  folded\n  text\ne: {f: 1e3, g: [], h: {}}\n")
for root, _, names in os.walk("configs"):
    for name in names:
        path = os.path.join(root, name)
        if name.endswith(".yaml") and os.path.getsize(path) <= 4096:
            with open(path, "rb") as f:
                data = f.read()
            for target in ("job", "yaml"):
                put(target, name, data)
for i in range(4):
    put("words", "learned%d" % i, bytes([i]) + b"x\nTo be or not to be\n\"that is, the question\"\nto\n")
put("words", "given", b"\4" + b"\n[UNK]\nto\nbe\r\nquestion\n")
# Tokenizers, of each model and with each part.
TOKENS = {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "##a": 4, "[UNK]": 5, "[CLS]": 6}
SPLITS = [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, {"type": "BertPreTokenizer"}, {"type": "Digits", "individual_digits": True},
          {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
          {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "[^\\r\\n\\p{L}]?\\p{L}+|\\s+(?!\\S)|.{1,3}"}, "behavior": "Isolated", "invert": False},
                                                 {"type": "Split", "pattern": {"String": "a"}, "behavior": "Removed", "invert": True}, {"type": "Whitespace"}, {"type": "WhitespaceSplit"}]}]
ENDS = [None, {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
               "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [6], "tokens": ["[CLS]"]}}},
        {"type": "RobertaProcessing", "sep": ["a", 0], "cls": ["b", 1], "trim_offsets": True, "add_prefix_space": True},
        {"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 1]}]}]
MODELS = [{"type": "BPE", "dropout": None, "unk_token": "[UNK]", "fuse_unk": True, "byte_fallback": False, "ignore_merges": True, "vocab": TOKENS, "merges": [["a", "b"]]},
          {"type": "BPE", "vocab": TOKENS, "merges": ["a b"]},
          {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": TOKENS},
          {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [["u", 0.0], ["\u2581", -2.5], ["\u2581a", -3.25], ["f", -4], ["caf", -5e0], ["aa", -1], ["aaa", -1.5]]}]
NORMALIZERS = [None, {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}, {"type": "Lowercase"}]
for i in range(20):
    put("tokenizer", "whole%d" % i, json.dumps({
        "version": "1.0", "truncation": None, "padding": {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": None, "pad_id": 5, "pad_type_id": 0, "pad_token": "[UNK]"},
        "added_tokens": [{"id": 7, "content": "<x>", "single_word": False, "lstrip": True, "rstrip": True, "normalized": bool(i % 2), "special": True}],
        "normalizer": NORMALIZERS[i % 3], "pre_tokenizer": SPLITS[i % 5], "post_processor": ENDS[i // 4 % 4], "decoder": None, "model": MODELS[i // 5]}))
# What processes send each other: the first byte says what the rest is.
def frame(kind, more):
    return struct.pack("<IIqqq", 0x64747032, kind, 3, 2, len(more))


def value(name, dtype, dims, per_replica, data):
    return struct.pack("<4i", len(name), dtype, len(dims), per_replica) + struct.pack("<%dq" % len(dims), *dims) + name + data


put("wire", "tag", b"\0" + struct.pack("<IBBHIqqQ", 7, 1, 6, 0, 3, 1000, 12, 4000) + b"dense/kernel".ljust(40, b"\0"))
for kind in range(1, 7):
    slices, more = kind < 3, b"" if kind == 5 else b"hello"
    put("wire", "frame%d" % kind, bytes([1, 32, 24 * slices, len(more)]) + frame(kind, more) + bytes(24 * slices) + more)
    put("wire", "stream%d" % kind, b"\4" + (frame(kind, more) + bytes(16 * slices) + more) * 2)
put("wire", "values", b"\2" + value(b"x", 6, [2, 3], 1, bytes(24)) + value(b"loss", 6, [], 0, bytes(4)))
put("wire", "failure", b"\3" + struct.pack("<i", 62) + b"there is no argument x")
for i, address in enumerate((b"node0:2222", b"[::1]:80", b"*:0", b":1", b"a:65536")):
    put("wire", "address%d" % i, b"\x09" + address)
put("lock", "held", "pid 4412 on node-b since 2025-11-21T09:53:07Z\nboot 1b4e28ba-2fa1-11d2-883f-0016d3cca427\n")
put("lock", "torn", "pid 4412 on node-b since 2025-11-")
JOB = """seed: 7
strategy: {type: mirrored, replicas: 2}
dataset: {format: synthetic, examples: 60, element: {image: {shape: [8]}, label: {num_classes: 3}}, global_batch_size: 8}
model: {layers: [Input: {name: image, shape: [8]}, Dense: {units: 4}]}
compile: {optimizer: {SGD: {learning_rate: 0.05}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
"""
for i, own in enumerate(("fit: {epochs: 3}\n",
    "compile: {optimizer: {Adam: {learning_rate: 0.1}}, loss: null}\nstrategy: {type: mirrored, replicas: 3}\n",
                         "dataset: null\nmodel: {layers: []}\n", "extends: base.yaml\n", "seed: [1\n")):
    put("extends", "form%d" % i, JOB + "-----\n" + own)
put("extends", "chain", "extends: job.yaml\n" + JOB + "-----\n")
SHARDS = "".join("train-%05d-of-00003.csv\n" % i for i in range(3))
for i, text in enumerate(("train-*\n" + SHARDS, "*.csv\n" + SHARDS[:50], "a/[x-z]*/?\na/y/1\na/z/2\na/b/3\n", "x\n",
    "train*\n" + SHARDS + SHARDS.replace("00003", "00002"))):
    put("paths", "form%d" % i, text)
for i, text in enumerate(("one/a.png\ntwo/b.PNG\ntwo/.hidden\nthree/c.png\n", "one/a.png\nnotes.txt\n", "one/\ntwo/a.jpg\n", "a/b/c.png\n")):
    put("image_folder", "form%d" % i, text)
for i, text in enumerate(("ckpt/step-00000003/state.json\nckpt/step-00000010/state.json\nckpt/step-00000010.tmp/state.json\n", "ckpt\n",
    "ckpt/step-3/state.json\n",
                          "ckpt/step-000000000000000009/\nckpt/step-123456789/state.json\nhistory.jsonl\n", "ckpt/step-00000004\nckpt/probe.tmp\n")):
    put("steps", "form%d" % i, text)
for i, text in enumerate(("{epoch:02d}-{val_loss:.2f}.x", "a{{b}}{loss}", "{loss:08.3e}{loss:g}{loss:F}{loss:E}{loss:G}", "{epoch", "{x!r}",
    "{epoch:5d}}", "{loss:12}")):
    put("pattern", "form%d" % i, text + "\n\0\0\0\0\0\0\xc0?")
KEPT = {"learning_rate": 0.05, "CSVLogger": {"size": 47, "end": 47, "keys": ["loss", "val_loss"]},
        "ReduceLROnPlateau": {"wait": 1, "cooldown": 0, "best": 0.7},
        "TensorBoard": {"train": [{"name": "events.out.tfevents.1.x.2.0", "size": 47, "end": 57}], "validation": []},
        "ModelCheckpoint": {"monitor": "val_loss", "best": "inf", "seen": 0},
        "EarlyStopping": {"wait": 2, "best": "-inf", "best_epoch": 1, "stopped_epoch": 0}}
put("callbacks", "all", json.dumps(KEPT))
put("callbacks", "none", "{}")
put("callbacks", "rate", '{"learning_rate": "nan"}')
put("learned", "two", '{"x.0":{"mean":[1,2.5],"variance":[0.5,1e-9]},"y.1":{"words":["to","be"]}}')
