# SPDX-License-Identifier: Apache-2.0
# Bytes in, peak memory out, a row for each reader: amplification.py FOLDER DTRAIN [--figures] [BEGINNING OF A NAME...]. Each row makes one hostile file, runs the program over it
# and compares the largest resident set with what a small training takes and the row's bound, in MiB. Prints the rows that break it.
import ctypes.util, gzip, json, os, socket, struct, sys, time, zipfile, zlib

folder, dtrain, *options = sys.argv[1:]
MIB = 1 << 20
LARGE = 64 * MIB
FAKE = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "tests/pjrt/fake_plugin.so"))
os.environ["FAKE_PJRT"] = "long"  # read by that plug-in alone
os.chdir(folder)


def write(name, *parts):
    with open(name, "wb") as f:
        for part in parts:
            f.write(part)
    return name


def pack(name, *parts):
    """A file of gzip, about 1,000 bytes for one where they repeat. A part that comes again is deflated once."""
    deflated, crc, size = {}, 0, 0
    with open(name, "wb") as f:
        f.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")
        for part in parts:
            if id(part) not in deflated:
                z = zlib.compressobj(6, zlib.DEFLATED, -15)
                deflated[id(part)] = z.compress(part) + z.flush(zlib.Z_FULL_FLUSH)  # ends a byte, and refers to nothing before
            f.write(deflated[id(part)])
            crc, size = zlib.crc32(part, crc), size + len(part)
        f.write(b"\3\0" + struct.pack("<II", crc, size % 2**32))  # an empty last block
    return name


def sparse(name, begin, size):
    write(name, begin)
    os.truncate(name, size)
    return name


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(height, width, *chunks, depth=8, colours=2, interlace=0):
    head = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunks) + chunk(b"IEND", b"")


def segment(kind, data):
    return b"\xff" + bytes([kind]) + struct.pack(">H", len(data) + 2) + data


def jpeg(height, width, scans):
    """A flat grey picture of three components whose blocks are one bit each: the first scan has their means, the others nothing more."""
    tables = segment(0xDB, b"\0" + b"\1" * 64) + segment(0xC2, struct.pack(">BHHB", 8, height, width, 3) + b"\1\x11\0\2\x11\0\3\x11\0")
    tables += segment(0xC4, b"\0\1" + b"\0" * 15 + b"\0") + segment(0xC4, b"\x10\1" + b"\0" * 15 + b"\0")
    blocks = -(-height // 8) * -(-width // 8)
    means = segment(0xDA, b"\3\1\0\2\0\3\0\0\0\0") + b"\0" * (3 * blocks // 8 + 1)
    more = segment(0xDA, b"\1\1\0\1\x3f\0") + b"\0" * (blocks // 8 + 1)
    return b"\xff\xd8" + tables + means + more * (scans - 1) + b"\xff\xd9"


def bits(*codes):
    """Pairs of a number and its bits, the lowest bit first."""
    value = at = 0
    for code, width in codes:
        value, at = value | code << at, at + width
    return value.to_bytes(at // 8 + 1, "little")


def gif(height, width, pixels, frames=1):
    """A flat picture: each code of LZW stands for one pixel more than the code before it."""
    codes, left = [], pixels
    while left > 0:
        codes += [(4, 12 if codes else 3), (0, 3)]
        left -= 1
        for code in range(6, 4096):
            codes.append((code, code.bit_length()))
            left -= code - 4
            if left <= 0 or code == 4095:
                break
    data = bits(*codes, (5, codes[-1][1]))
    blocks = b"".join(bytes([len(data[i : i + 255])]) + data[i : i + 255] for i in range(0, len(data), 255))
    frame = b",\0\0\0\0" + struct.pack("<HH", width, height) + b"\0\2" + blocks + b"\0"
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\xf0\0\0" + b"\0" * 6 + frame * frames + b";"


def bmp(height, width, compression, data, depth=8):
    palette = b"\0" * 1024 if depth == 8 else b""
    start = 54 + len(palette)
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, depth, compression, len(data), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", start + len(data), 0, 0, start) + info + palette + data


def webp(height, width):
    """A lossless picture whose five codes have one symbol each, so that a pixel takes no bits."""
    data = b"\x2f" + bits((width - 1, 14), (height - 1, 14), (0, 4), (0, 3), *[(1, 4)] * 5) + b"\0" * 8
    data += b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", 12 + len(data)) + b"WEBPVP8L" + struct.pack("<I", len(data)) + data


def tiff(height, width, data, rows=None, compression=8, more=()):
    tags = [(256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, compression), (262, 3, 1), (273, 4, 8), (277, 3, 1), (278, 4, rows or height), (279, 4, len(data))]
    entries = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in sorted([*tags, *more]))
    return b"II*\0" + struct.pack("<I", 8 + len(data)) + data + struct.pack("<H", len(tags) + len(more)) + entries + b"\0\0\0\0"


def album(*pictures):
    for i, (name, data) in enumerate(pictures):
        os.makedirs(f"album/c{i % 2}", exist_ok=True)
        write(f"album/c{i % 2}/{i}.{name}", data)


def npy(shape, dtype="<f4"):
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text


def crc32c(data):
    c = 0xFFFFFFFF
    for b in data:
        c ^= b
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    c ^= 0xFFFFFFFF
    return struct.pack("<I", ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + crc32c(length) + data + crc32c(data)


def archive(name, method, members):
    with zipfile.ZipFile(name, "w", method) as z:
        for member, data in members:
            z.writestr(member, data)
    return name


def job(name, dataset, inputs="Input: {name: x, shape: [1]}", more=""):
    text = f"""version: 1
dataset: {{{dataset}, global_batch_size: 8}}
model: {{layers: [{inputs}, Dense: {{units: 2, name: logits}}]}}
compile: {{optimizer: sgd, loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}}}
fit: {{epochs: 1}}
output: {{dir: run}}
{more}"""
    write(name, text.encode())
    return name


CSV = "element: {x: {columns: [a]}, y: {column: y, dtype: int32}}"
PICTURES = "format: image_folder, train: album, element: {image: {shape: [8, 8, 3], interpolation: nearest}, label: {num_classes: 2}}"
IMAGE = "Input: {name: image, shape: [8, 8, 3]}, Flatten: {}"


def csv(body, packed=True):
    file = (pack if packed else write)("t.csv.gz" if packed else "t.csv", b"a,y\n", *body)
    return ["data", "inspect", file]


def train(body):
    job("j.yaml", f"format: csv, train: {pack('t.csv.gz', b'a,y' + chr(10).encode(), *body)}, {CSV}")
    return ["fit", "--fresh", "j.yaml", "dataset.global_batch_size=65536"]


def train_lines(*parts):
    element = "element: {x: {column: x, shape: [1]}, y: {dtype: int32}}"
    job("j.yaml", f"format: jsonl, train: {pack('t.jsonl.gz', *parts)}, {element}")
    return ["fit", "--fresh", "j.yaml", "dataset.global_batch_size=65536"]


def predict(name, *parts):
    (pack if name.endswith(".gz") else write)(name, *parts)
    return ["predict", "trained.yaml", "--input", name]


def pictures(*all_of):
    import shutil
    shutil.rmtree("album", ignore_errors=True)
    album(*all_of)
    return ["fit", "--fresh", job("j.yaml", PICTURES + ", num_parallel_calls: 2", IMAGE)]


def words_of(text):
    write("s3.csv", b"a,y\n" + b"a,1\nb,0\n" * 8)
    element = "element: {x: {column: a, dtype: string}, y: {column: y, dtype: int32}}"
    return dataset(f"format: csv, train: s3.csv, {element}, map: {{x: [string_lookup: {{vocabulary: {write('v.txt', text)}}}]}}")


def tfrecord(*parts):
    return dataset(f"format: tfrecord, train: {pack('t.tfrecord.gz', *parts)}, element: {{x: {{shape: [1], dtype: float32}}, y: {{shape: [], dtype: int32}}}}")


def dataset(text, inputs="Input: {name: x, shape: [1]}"):
    return ["fit", "--fresh", job("j.yaml", text, inputs)]


ZEROS = b"\0" * MIB
ROWS = []


def row(bound, name):
    def add(make):
        ROWS.append((bound, name, make))
        return make
    return add


# ---- rows of text ----

row(16, "csv: one field without end")(lambda: csv([ZEROS.replace(b"\0", b"1")] * 64))
row(64, "csv: commas")(lambda: csv([b"," * MIB] * 64))
row(16, "csv: an open quote")(lambda: csv([b'"' + b"a" * MIB] + [b"a" * MIB] * 63))
row(16, "csv: blank lines")(lambda: csv([b"\n" * MIB] * 16))
row(300, "csv: 16 Mi short rows")(lambda: csv([b"1,1\n" * (MIB // 4)] * 64))
row(170, "fit: 16 Mi short rows")(lambda: train([b"1,1\n" * (MIB // 4)] * 64))
row(170, "fit: 16 Mi short rows, not compressed")(lambda: dataset(f"format: csv, train: {write('t.csv', b'a,y' + bytes([10]), *[b'1,1' + bytes([10])] * (16 * MIB))}, {CSV}") + ["-n"])
row(16, "fit: one field without end")(lambda: train([b"1" * MIB] * 64))
row(80, "jsonl: objects for numbers")(lambda: predict("p.jsonl.gz", b'{"x":[' + b"{}," * (LARGE // 3) + b"{}]}\n"))
row(80, "jsonl: lists of lists")(lambda: predict("p.jsonl.gz", b'{"x":' + b"[" * (32 * MIB) + b"]" * (32 * MIB) + b"}\n"))
row(80, "jsonl: empty lists")(lambda: predict("p.jsonl.gz", b'{"x":[' + b"[]," * (LARGE // 3) + b"[]]}\n"))
row(80, "jsonl: numbers")(lambda: predict("p.jsonl.gz", b'{"x":[' + b"1," * (LARGE // 2) + b"1]}\n"))
row(80, "jsonl: keys")(lambda: predict("p.jsonl.gz", b'{"x":1' + b"".join(b',"%x":1' % i for i in range(5_000_000)) + b"}\n"))
row(150, "jsonl: one long key")(lambda: predict("p.jsonl.gz", b'{"' + b"a" * LARGE + b'":1}\n'))
row(80, "jsonl: spaces")(lambda: predict("p.jsonl.gz", b'{"x":[1', *[b" " * MIB] * 600, b"]}\n"))
row(80, "jsonl: a string without end")(lambda: predict("p.jsonl.gz", b'{"x":"', *[b"a" * MIB] * 600))
row(16, "jsonl: spaces before a row")(lambda: predict("p.jsonl.gz", *[b" " * MIB] * 600, b'{"x":[1]}\n'))
row(16, "jsonl: a list of many rows")(lambda: predict("p.jsonl.gz", b"[", *[b'{"x":[1]},' * 6553] * 16, b'{"x":[1]}]'))
row(80, "jsonl: a list of lists")(lambda: predict("p.jsonl.gz", b"[" * LARGE))
row(130, "fit: 4 Mi rows of JSON lines")(lambda: train_lines(*[b'{"x":1,"y":1}\n' * (MIB // 16)] * 64))
row(80, "fit: one row of JSON lines")(lambda: train_lines(b'{"x":[', b"1," * (LARGE // 2), b'1],"y":1}\n'))
row(80, "inspect: one row of JSON lines")(lambda: ["data", "inspect", pack("t.jsonl.gz", b'{"x":[', b"1," * (LARGE // 2), b"1]}\n")])
row(16, "jsonl: blank lines")(lambda: predict("p.jsonl.gz", *[b"\n" * MIB] * 16))
row(16, "jsonl: many rows")(lambda: predict("p.jsonl.gz", *[b'{"x":[1]}\n' * 6553] * 16))
row(16, "csv to predict: one line")(lambda: predict("p.csv.gz", b"x\n", *[b"1" * MIB] * 64))
row(340, "text: a character each")(lambda: dataset(
    f"format: text, train: {pack('t.txt.gz', *[b'ab' * (MIB // 2)] * 64)}, tokenizer: {{type: char}}, element: {{tokens: {{shape: [64], dtype: int32}}}}",
    "Input: {name: tokens, shape: [64], dtype: int32}, Embedding: {input_dim: 9, output_dim: 2}, Flatten: {}") + ["-n"])
row(140, "a vocabulary of one word")(lambda: words_of(b"a" * LARGE))
row(420, "a vocabulary of 32 Mi words")(lambda: words_of(b"a\n" * (LARGE // 2)))

# ---- arrays ----

row(16, "npy: says 1 TiB")(lambda: ["data", "inspect", write("a.npy", npy((1 << 38,)), b"1234")])
row(80, "npy: 64 MiB of zeros")(lambda: ["data", "inspect", pack("a.npy.gz", npy((16 * MIB,)), *[ZEROS] * 64)])
row(16, "npy: a header without end")(lambda: ["data", "inspect", pack("a.npy.gz", b"\x93NUMPY\2\0" + struct.pack("<I", LARGE), *[b" " * MIB] * 64)])
row(24, "npy: to predict")(lambda: predict("p.npy.gz", npy((16 * MIB, 1)), *[ZEROS] * 4))
row(80, "npz: one member of 64 MiB")(lambda: ["data", "inspect", archive("a.npz", zipfile.ZIP_DEFLATED, [("x.npy", npy((16 * MIB,)) + ZEROS * 64)])])
row(80, "npz: 20,000 members")(lambda: ["data", "inspect", archive("a.npz", zipfile.ZIP_STORED, [(f"m{i}.npy", npy((1,)) + b"1234") for i in range(20000)])])
row(48, "npz: to predict")(lambda: predict("p.npz", open(archive("a.npz", zipfile.ZIP_DEFLATED, [("x.npy", npy((1 << 20, 1)) + ZEROS * 4)]), "rb").read()))
row(80, "idx: says 4 GiB")(lambda: ["data", "inspect", pack("a-idx1-ubyte.gz", struct.pack(">HBBI", 0, 8, 1, 0xFFFFFFF0), *[ZEROS] * 64)])
row(16, "tfrecord: a length of 1 TiB")(lambda: ["data", "inspect", write("a.tfrecord", struct.pack("<Q", 1 << 40) + crc32c(struct.pack("<Q", 1 << 40)), b"123")])
row(90, "tfrecord: one record of 64 MiB")(lambda: ["data", "inspect", pack("a.tfrecord.gz", struct.pack("<Q", LARGE) + crc32c(struct.pack("<Q", LARGE)), *[ZEROS] * 65)])
row(130, "tfrecord: empty records")(lambda: tfrecord(*[record(b"") * 65536] * 64))
row(90, "tfrecord: an example of empty features")(lambda: tfrecord(record(b"\n\x80\x80\x04" + b"\n\0" * 32768)))
row(16, "gzip: empty members")(lambda: ["data", "inspect", write("a.csv.gz", gzip.compress(b"") * 400_000)])
row(16, "gzip: a header without end")(lambda: ["data", "inspect", write("a.csv.gz", b"\x1f\x8b\x08\x08\0\0\0\0\0\0", b"a" * (16 * MIB))])

# ---- pictures ----

row(64, "png: says 2 Gi x 2 Gi")(lambda: pictures(*[("png", png(1 << 31, 1 << 31))] * 2))
row(64, "png: comments that inflate")(lambda: pictures(*[("png", png(8, 8, *[chunk(b"zTXt", b"k\0\0" + zlib.compress(ZEROS * 7, 9))] * 200, chunk(b"IDAT", zlib.compress(b"\0" * 25 * 8))))] * 2))
row(64, "png: profiles that inflate")(lambda: pictures(*[("png", png(8, 8, chunk(b"iCCP", b"k\0\0" + zlib.compress(ZEROS * 64, 9)), chunk(b"IDAT", zlib.compress(b"\0" * 25 * 8))))] * 2))
row(300, "png: 6000 x 6000")(lambda: pictures(*[("png", png(6000, 6000, chunk(b"IDAT", zlib.compress(b"\0" * 18001 * 6000, 9))))] * 2))
row(180, "jpeg: progressive, 4000 x 4000")(lambda: pictures(*[("jpg", jpeg(4000, 4000, 2))] * 2))
row(64, "jpeg: progressive, 12000 x 12000")(lambda: pictures(*[("jpg", jpeg(12000, 12000, 1))] * 2))
row(64, "jpeg: 400 scans")(lambda: pictures(*[("jpg", jpeg(2000, 2000, 400))] * 2))

row(64, "gif: says 65535 x 65535")(lambda: pictures(*[("gif", gif(65535, 65535, 1))] * 2))
row(180, "gif: 4000 x 4000")(lambda: pictures(*[("gif", gif(4000, 4000, 16_000_000))] * 2))
row(64, "gif: 2,000 frames")(lambda: pictures(*[("gif", gif(500, 500, 250_000, 2000))] * 2))
row(64, "bmp: says 2 Gi x 2 Gi")(lambda: pictures(*[("bmp", bmp((1 << 31) - 1, (1 << 31) - 1, 1, b"\0\1"))] * 2))
row(64, "bmp: runs, 13000 x 13000")(lambda: pictures(*[("bmp", bmp(13000, 13000, 1, b"\0\1"))] * 2))
row(64, "bmp: 65535 x 65535 in 64 bytes")(lambda: pictures(*[("bmp", bmp(65535, 65535, 0, b"\0" * 64, depth=24))] * 2))
row(260, "webp: 4000 x 4000 in 40 bytes")(lambda: pictures(*[("webp", webp(4000, 4000))] * 2))
row(64, "webp: 16383 x 10000 in 40 bytes")(lambda: pictures(*[("webp", webp(10000, 16383))] * 2))
row(64, "webp: 16383 x 16383 in 40 bytes")(lambda: pictures(*[("webp", webp(16383, 16383))] * 2))
row(64, "tiff: says 2 Gi x 2 Gi")(lambda: pictures(*[("tiff", tiff((1 << 31) - 1, (1 << 31) - 1, b"\0" * 64))] * 2))
row(300, "tiff: 6000 x 6000, deflated")(lambda: pictures(*[("tiff", tiff(6000, 6000, zlib.compress(b"\0" * 36_000_000, 9)))] * 2))
row(64, "tiff: one strip that inflates to 1 GiB")(lambda: pictures(*[("tiff", tiff(8, 8, zlib.compress(ZEROS * 1024, 9)))] * 2))
row(64, "tiff: strips of 4 Gi rows")(lambda: pictures(*[("tiff", tiff(8, 8, zlib.compress(b"\0" * 64), 0xFFFFFFFF))] * 2))
row(64, "tiff: tiles of 1 Gi x 1 Gi")(lambda: pictures(*[("tiff", tiff(8, 8, zlib.compress(b"\0" * 64), more=((322, 4, 1 << 30), (323, 4, 1 << 30), (324, 4, 8), (325, 4, 16))))] * 2))

# ---- tokenizers, folders of texts, libsvm, documents ----


def tokenizer(*parts):
    write("k.json", *parts)
    write("s3.csv", b"a,y\n" + b"a,1\nb,0\n" * 8)
    element = "element: {x: {column: a, dtype: string}, y: {column: y, dtype: int32}}"
    return dataset(f"format: csv, train: s3.csv, {element}, map: {{x: [tokenizer: {{path: k.json, max_length: 1}}]}}")


def word_piece(vocabulary):
    head = b'{"version":"1.0","normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"added_tokens":[],"model":'
    model = b'{"type":"WordPiece","unk_token":"a","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":'
    return tokenizer(head + model + vocabulary + b"}}")


def texts(*files):
    import shutil
    shutil.rmtree("texts", ignore_errors=True)
    for i, parts in enumerate(files):
        os.makedirs(f"texts/c{i % 2}", exist_ok=True)
        write(f"texts/c{i % 2}/{i}.txt", *parts)
    element = "element: {text: {dtype: string, max_bytes: 1048576}, label: {num_classes: 2}}"
    words = "map: {text: [text_vectorization: {max_tokens: 9, output_sequence_length: 4}]}"
    return dataset(f"format: text_folder, train: texts, {element}, {words}", "Input: {name: text, shape: [4]}")


def libsvm(*parts):
    file = pack("t.svm.gz", *parts)
    return dataset(f"format: libsvm, train: {file}, element: {{x: {{shape: [4]}}, label: {{dtype: int32}}}}")


def documents(*parts):
    element = "element: {tokens: {shape: [64], dtype: int32}}"
    layers = "Input: {name: tokens, shape: [64], dtype: int32}, Embedding: {input_dim: 9, output_dim: 2}, Flatten: {}"
    return dataset(f"format: text, train: {pack('d.jsonl.gz', *parts)}, {element}", layers) + ["-n"]


row(16, "tokenizer: more than 64 MiB")(lambda: tokenizer(b'{"a":[', b"{}," * (24 * MIB), b"{}]}"))
row(80, "tokenizer: 63 MiB of objects")(lambda: tokenizer(b'{"a":[', b"{}," * (21 * MIB - 9), b"{}]}"))
row(80, "tokenizer: lists of lists")(lambda: tokenizer(b"[" * (60 * MIB)))
row(80, "tokenizer: 3,000,000 tokens")(lambda: word_piece(b'{"a":0' + b"".join(b',"%x~":%d' % (i, i) for i in range(1, 3_000_000)) + b"}"))
row(140, "tokenizer: 2,000,000 tokens")(lambda: word_piece(b'{"a":0' + b"".join(b',"%x~":%d' % (i, i) for i in range(1, 2_000_000)) + b"}"))
row(150, "tokenizer: one token of 60 MiB")(lambda: word_piece(b'{"a":0,"' + b"a" * (60 * MIB) + b'":1}'))
row(16, "texts: two of 64 MiB")(lambda: texts(*[[b"a " * (MIB // 2)] * 64] * 2))
row(110, "texts: 64 of 1 MiB of short words")(lambda: texts(*[[b"a " * (MIB // 2)]] * 64))
row(220, "texts: 16 of 1 MiB, all words different")(lambda: texts(*[[b"%x " % (j * 16 + i) for j in range(130_000)] for i in range(16)]))
row(16, "libsvm: an index of 4 Gi")(lambda: libsvm(b"1 1:1\n1 4294967295:1\n"))
row(140, "libsvm: one line of 64 MiB")(lambda: libsvm(b"1 1:", *[b"1" * MIB] * 64, b"\n"))
row(140, "libsvm: one line of pairs")(lambda: libsvm(b"1" + b"".join(b" %d:1" % i for i in range(1, 6_000_000)) + b"\n"))
row(280, "libsvm: 16 Mi short rows")(lambda: libsvm(*[b"1 1:1\n" * (MIB // 4)] * 64))
row(16, "libsvm: blank lines and comments")(lambda: libsvm(*[b"#\n\n" * (MIB // 3)] * 16))
row(280, "libsvm: inspect an index of 1 Mi")(lambda: ["data", "inspect", pack("t.svm.gz", b"1 1:1\n1 1048576:1\n" * 4096)])
row(340, "documents: one of 63 MiB")(lambda: documents(b'{"text":"' + b"ab" * (31 * MIB) + b'"}\n'))
row(90, "documents: short ones")(lambda: documents(*[b'{"text":"ab"}\n' * (MIB // 14)] * 64))
row(90, "documents: escapes")(lambda: documents(*[b'{"text":"' + b"\\u0061" * 99999 + b'"}\n'] * 99))
row(80, "documents: objects for a text")(lambda: documents(b'{"text":[' + b"{}," * (21 * MIB) + b"{}]}\n"))
row(16, "config init: 16 Mi short rows")(lambda: ["config", "init", "--from", pack("t.csv.gz", b"a,y\n", *[b"1,1\n" * (MIB // 4)] * 64), "--target", "y"])
row(16, "generate: a prompt of 64 MiB")(lambda: ["generate", "trained.yaml", "--prompt-file", write("p.txt", *[b"a" * MIB] * 64)])

# ---- weights, checkpoints and what a run writes ----


def weights(*parts):
    return ["ckpt", "inspect", write("w.safetensors", *parts)]


def tensors(n):
    one = ",".join('"t%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % i for i in range(n))
    return ("{" + one + "}").encode()


def damaged(file, *parts):
    import glob, shutil
    shutil.rmtree("broken", ignore_errors=True)
    shutil.copytree("run", "broken")
    write(glob.glob("broken/" + file)[0], *parts)
    return "broken"


def hdf5(name):
    return ["ckpt", "convert", os.path.join(os.environ["HDF5_FILES"], name), "-o", "w.npz"]


if os.environ.get("HDF5_FILES"):
    row(300, "hdf5: 256 MiB of zeros, deflated")(lambda: hdf5("deflated.h5"))
    row(300, "hdf5: 1 TiB that is not stored")(lambda: hdf5("fill.h5"))
    row(300, "hdf5: 2,000 groups")(lambda: hdf5("groups.h5"))
row(260, "hdf5: 64 MiB after its signature")(lambda: ["ckpt", "convert", sparse("w.h5", b"\x89HDF\r\n\x1a\n", LARGE), "-o", "w.npz"])
row(16, "safetensors: a header of 1 TiB")(lambda: weights(struct.pack("<Q", 1 << 40), b"{"))
row(16, "safetensors: a header of 64 MiB")(lambda: weights(struct.pack("<Q", LARGE), b" " * LARGE))
row(260, "safetensors: a header of 16 MiB of objects")(lambda: weights(struct.pack("<Q", 16 * MIB), b'{"a":[' + b"{}," * (16 * MIB // 3 - 3) + b"{}]}   "))
row(260, "safetensors: 250,000 tensors")(lambda: weights(struct.pack("<Q", len(tensors(250000))), tensors(250000)))
row(80, "npz weights: one member of 64 MiB")(lambda: ["ckpt", "inspect", archive("w.npz", zipfile.ZIP_DEFLATED, [("x.npy", npy((16 * MIB,)) + ZEROS * 64)])])
row(260, "state.json: 63 MiB of objects")(lambda: ["ckpt", "ls", damaged("ckpt/step-*/state.json", b'{"a":[' + b"{}," * (21 * MIB) + b"{}]}")])
row(140, "history.jsonl: one line of 63 MiB")(lambda: ["ckpt", "ls", damaged("history.jsonl", b'{"a":[' + b"{}," * (21 * MIB) + b"{}]}\n")])
row(24, "record.jsonl: one line of 64 MiB")(lambda: ["report", damaged("record.jsonl", b'{"a":[' + b"{}," * (LARGE // 3) + b"{}]}\n"), "-o", "r.html"])

# ---- jobs ----

row(16, "job: 64 MiB")(lambda: ["validate", write("big.yaml", b"a: 1\n" * (LARGE // 5))])
row(40, "job: 1 MiB of brackets")(lambda: ["validate", write("big.yaml", b"[" * (MIB - 1))])
row(40, "job: 1 MiB of keys")(lambda: ["validate", write("big.yaml", b"".join(b"k%x: 1\n" % i for i in range(90000)))])
row(40, "job: aliases of aliases")(lambda: ["validate", write("big.yaml", b"a: &a [x]\n" + b"".join(b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9)) for c in range(98, 120)))])
row(16, "job: extends 64 MiB")(lambda: ["validate", write("e.yaml", b"extends: big.yaml\n" if write("big.yaml", b"a: 1\n" * (LARGE // 5)) else b"")])
row(90, "keras: 15 MiB of objects")(lambda: ["validate", write("k.yaml", b"version: 1\nmodel: {keras_config: k.json}\n" if write("k.json", b'{"a":[' + b"{}," * (5 * MIB) + b"{}]}") else b"")])
row(16, "plug-in: 64 MiB that are none")(lambda: ["devices", "--plugin", "./" + sparse("p.so", b"\x7fELF", LARGE)])


# ---- other processes ----


def frame(flags, body):
    return struct.pack(">BQ", flags | 2, len(body)) + body


def speak(port, *parts):
    """A process without a secret that connects as a peer of ZeroMQ, and sends this as soon as a process listens."""
    if os.fork():
        return
    os.setsid()
    os.closerange(3, 256)  # the pipe of prepared() among them
    for _ in range(200):
        try:
            s = socket.create_connection(("127.0.0.1", port), 20)
            break
        except OSError:
            time.sleep(0.05)
    else:
        os._exit(1)
    try:
        s.sendall(b"\xff" + b"\0" * 8 + b"\x7f\3\0" + b"NULL".ljust(52, b"\0"))
        ready = b"\5READY" + b"".join(bytes([len(k)]) + k + struct.pack(">I", len(v)) + v for k, v in ((b"Socket-Type", b"DEALER"), (b"Identity", b"worker 1/0123456789abcdef")))
        s.sendall(frame(4, ready))
        for part in parts:
            s.sendall(part)
        while s.recv(4096):
            pass
    except OSError:
        pass
    os._exit(0)


def meeting(*parts):
    """Worker 0 of two, to which a stranger speaks while it waits for the other."""
    with socket.socket() as a, socket.socket() as b:
        a.bind(("127.0.0.1", 0)), b.bind(("127.0.0.1", 0))
        ports = a.getsockname()[1], b.getsockname()[1]
    speak(ports[0], *parts)
    workers = ", ".join(f'"127.0.0.1:{p}"' for p in ports)
    return ["fit", "trained.yaml", "--fresh", "--rank", "0", f"strategy={{type: multi_worker_mirrored, start_timeout: 4, cluster_resolver: {{workers: [{workers}]}}}}"]


if ctypes.util.find_library("zmq"):
    row(90, "workers: a message of 64 MiB before they meet")(lambda: meeting(frame(0, b"x" * LARGE)))
    row(90, "workers: messages of eight parts")(lambda: meeting(*([frame(1, ZEROS)] * 7 + [frame(0, ZEROS)]) * 8))
    row(40, "workers: parts without end")(lambda: meeting(*[frame(1, b"x" * 1024)] * 16384))
    row(16, "workers: a message that says 1 TiB")(lambda: meeting(struct.pack(">BQ", 2, 1 << 40), b"x" * 65536))

# ---- what a run records, and what plug-ins say ----


def traced(*parts):
    pack(os.path.join("run", "trace.json.gz"), *parts)
    return ["trace", "run"]


if os.path.exists(FAKE):
    row(90, "plug-in: a message of 64 MiB, which the plug-in has itself")(lambda: ["devices", "--plugin", FAKE])
row(280, "trace: 600 MiB of spaces")(lambda: traced(b"{", *[b" " * MIB] * 600))


def prepared(make):
    """The words of a row. A child makes its file: what a process took before it runs another program counts as that program's."""
    read, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(out, "w") as f:
            json.dump(make(), f)
        os._exit(0)
    os.close(out)
    with os.fdopen(read) as f:
        words = json.load(f)
    os.waitpid(pid, 0)
    return words


def said():
    """What the program printed, of long texts the beginning and the end: a child begins with the memory of this process, and counts it."""
    with open("out", "rb") as f:
        text = f.read(4096)
        f.seek(max(len(text), os.path.getsize("out") - 4096))
        return (text + f.read()).decode(errors="replace")


def names_an_error():
    """Whether the program printed an error, wherever: read in pieces, for the same reason."""
    with open("out", "rb") as f:
        last = b""
        for piece in iter(lambda: f.read(1 << 16), b""):
            if b": error: " in last + piece:
                return True
            last = piece[-16:]
    return False


def peak(words):
    """MiB, the exit code, and seconds of a processor."""
    pid = os.fork()
    if pid == 0:
        null = os.open("/dev/null", os.O_RDONLY)
        file = os.open("out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(null, 0), os.dup2(file, 1), os.dup2(file, 2)
        os.execv(dtrain, [dtrain, *words])
    _, status, use = os.wait4(pid, 0)
    return use.ru_maxrss / 1024, os.waitstatus_to_exitcode(status), use.ru_utime + use.ru_stime


write("s.csv", b"a,y\n" + b"1,1\n0,0\n" * 8)
job("trained.yaml", f"format: csv, train: s.csv, {CSV}")
_, code, _ = peak(["fit", "--fresh", "trained.yaml"])
if code:
    sys.exit(f"the small job: exit {code}\n" + open("out").read())
program, _, _ = peak(["fit", "--fresh", "trained.yaml"])
documented = {0, 64, 65, 66, 69, 71, 73, 74, 75, 76, 77, 78, 79, 80}
only = [o for o in options if o != "--figures"]
for bound, name, make in ROWS:
    if only and not any(name.startswith(o) for o in only):
        continue
    words = prepared(make)
    mib, code, seconds = peak(words)
    text = said()
    if "--figures" in options:
        print(f"{name}: {mib - program:.0f} of {bound} MiB, exit {code}, {seconds:.1f} s: {text.strip().splitlines()[-1][:110] if text.strip() else ''}", flush=True)
    if mib > program + bound:
        print(f"{name}: {mib - program:.0f} MiB beside the program, not {bound}")
    if code not in documented or (code and not names_an_error()):
        print(f"{name}: exit {code}: {text[:200]}")
