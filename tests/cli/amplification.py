# SPDX-License-Identifier: Apache-2.0
# Bytes in, peak memory out, a row for each reader: amplification.py FOLDER DTRAIN [--figures]. Each row makes one hostile file, runs the program over it
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
    """About 1,000 bytes for one where they repeat."""
    with gzip.GzipFile(name, "wb", 6, mtime=0) as f:
        for part in parts:
            f.write(part)
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
row(16, "csv: blank lines")(lambda: csv([b"\n" * MIB] * 64))
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
row(16, "jsonl: blank lines")(lambda: predict("p.jsonl.gz", *[b"\n" * MIB] * 64))
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
_, code, _ = peak(["fit", "trained.yaml"])
if code:
    sys.exit(f"the small job: exit {code}\n" + open("out").read())
program, _, _ = peak(["fit", "--fresh", "trained.yaml"])
documented = {0, 64, 65, 66, 69, 71, 73, 74, 75, 76, 77, 78, 79, 80}
for bound, name, make in ROWS:
    words = prepared(make)
    mib, code, seconds = peak(words)
    text = open("out", errors="replace").read()
    if "--figures" in options:
        print(f"{name}: {mib - program:.0f} of {bound} MiB, exit {code}, {seconds:.1f} s: {text.strip().splitlines()[-1][:110] if text.strip() else ''}", flush=True)
    if mib > program + bound:
        print(f"{name}: {mib - program:.0f} MiB beside the program, not {bound}")
    if code not in documented or (code and ": error: " not in text):
        print(f"{name}: exit {code}: {text[:200]}")
