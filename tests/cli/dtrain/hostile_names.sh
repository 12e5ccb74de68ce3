#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names from outside, with everything that a terminal might obey, are given to every verb that meets them. No raw byte of it comes out: neither on
# standard output nor on standard error, in no form, on a terminal or not, in no page and no log.
. tests/cli/setup.sh
. tests/cli/jobs.sh
command -v python3 >"$TEST_DIR/which" || { echo "no python3 here" && exit 77; }
cat >"$TEST_DIR/test.py" <<'END'
import json, os, pty, shutil, struct, subprocess, sys, zlib
program, folder = sys.argv[1:]
os.chdir(folder)
EVIL = "\x1b[31m\x1b]0;pwn\x07\u009b2J\u202eabc\u2066d\u200f\u2028e\u2029\ufeff\U000e0041\x7f"
LINE = "f\ng\rh\x08"
UNSEEN = [(0, 8), (11, 31), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF),
          (0xFFF9, 0xFFFB), (0xE0000, 0xE007F)]

def faults(raw, terminal=False):
    try:
        text = raw.decode()
    except UnicodeDecodeError as e:
        return [f"not UTF-8 at {e.start}: {raw[max(0, e.start - 20):e.start + 5]!r}"]
    if terminal:  # our own colours, line ends and the bar
        for own in ("\x1b[1m", "\x1b[m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[K", "\r"):
            text = text.replace(own, "")
    return [f"U+{ord(c):04X} in {text[max(0, i - 30):i + 10]!r}" for i, c in enumerate(text) if any(a <= ord(c) <= b for a, b in UNSEEN)][:2]

env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"}

def on_terminal(words):
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(program, [program, *words], env)
    got = b""
    try:
        while piece := os.read(fd, 65536):
            got += piece
    except OSError:
        pass
    os.waitpid(pid, 0)
    return got

ran = 0
def show(*words, input=b""):
    global ran
    ran += 1
    p = subprocess.run([program, *words], input=input, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=120)
    label = " ".join(words).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").encode("unicode_escape").decode()
    if p.returncode < 0 or p.returncode == 70:
        print(f"{label}: exit {p.returncode}")
    found = faults(p.stdout) + faults(p.stderr)
    for line in p.stdout.decode("utf-8", "replace").split("\n") if "json" in label and not found else []:
        if line.startswith("{"):
            try: json.loads(line)
            except ValueError as e: found.append(f"not JSON, {e}: {line[:120]!r}")
    if "-o" not in words:
        found += faults(on_terminal(words), True)
    for f in found:
        print(f"{label}: {f}")
    return p

def safetensors(path, names):
    header = json.dumps({n: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i, n in enumerate(names)}).encode()
    header += b" " * (-len(header) % 8)
    open(path, "wb").write(struct.pack("<Q", len(header)) + header + b"\0" * 4 * len(names))

def png(path):
    def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = zlib.compress(b"".join(b"\0" + bytes([i * 9 % 256]) * 12 for i in range(4)))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0)) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))

def job(path, dataset, layers, more=None, output="run"):
    open(path, "w").write(json.dumps({"version": 1, "dataset": dataset, "model": {"type": "sequential", "layers": layers},
        "compile": {"optimizer": "SGD", "loss": {"SparseCategoricalCrossentropy": {"from_logits": True}}, "metrics": ["accuracy"]},
        "fit": {"epochs": 2, **(more or {})}, "output": {"dir": output, "report": "html", "tensorboard": True}}).replace("\\udb40\\udc41", "\U000e0041"))
    return path

# ---- weights
for i, name in enumerate((EVIL, LINE, EVIL + "/kernel")):
    safetensors(f"w{i}.safetensors", [name, "plain"])
for i in range(3):
    for form in ([], ["--json"]):
        show("ckpt", "inspect", f"w{i}.safetensors", *form)
        show("ckpt", "diff", f"w{i}.safetensors", f"w{(i + 1) % 3}.safetensors", *form)
        show("ckpt", "verify", f"w{i}.safetensors", *form)
    show("ckpt", "convert", f"w{i}.safetensors", "-o", f"w{i}.npz")
    show("ckpt", "inspect", f"w{i}.npz")

# ---- tables: names of columns and files, classes, fields
table = f"{EVIL}.csv"
open(table, "w").write(f'"{EVIL}",b,y\n' + "".join(f"{i / 40},{i % 3},{EVIL if i % 2 else 'no'}\n" for i in range(40)))
data = {"format": "csv", "train": table, "validation_split": 0.2, "global_batch_size": 8,
        "element": {"x": {"columns": [EVIL, "b"]}, "y": {"column": "y", "dtype": "int32", "vocabulary": ["no", EVIL]}}}
dense = [{"Input": {"name": "x", "shape": [2]}}, {"Dense": {"units": 2, "name": "logits"}}]
for name in ("job.yaml", f"{EVIL}job.yaml"):
    path = job(name, data, dense, more={"callbacks": [{"CSVLogger": {"filename": "log.csv"}}]})
    for words in (["fit", path, "name=job", "--log-file", "log"], ["fit", path, "name=job", "--fresh", "--json", "--every-step"], ["fit", path, "name=job", "fit.epochs=3", "-v"],
                  ["evaluate", path, "name=job"], ["evaluate", path, "name=job", "--json"], ["validate", path, "name=job"], ["validate", "--json", path],
                  ["config", "show", path, "--origin"], ["config", "diff", path, "run"], ["lower", path, "name=job"], ["plan", path, "name=job", "--tpu", "v3-8"],
                  ["plan", path, "name=job", "--tpu", "v3-8", "--json"], ["data", "inspect", path], ["data", "shards", path], ["topology", path, "--tpu", "v3-8"],
                  ["predict", path, "name=job", "--top", "1", "--format", "jsonl"], ["ckpt", "ls", "run"], ["ckpt", "inspect", "run"], ["trace", "run"],
                  ["ckpt", "verify", "run", "--json"], ["report", "run", "-o", "-"], ["export", path, "name=job", "--to", "onnx", "-o", "m.onnx"]):
        show(*words)
for word in ("text", "json", "github"):
    for fault in (f"{EVIL}=1", f"fit.{EVIL}=1", f"fit.epochs={EVIL}", f"compile.loss={EVIL}", f"dataset.train={EVIL}", f"compile.target={EVIL}", f"dataset.element.y.vocabulary=[{EVIL!r}]",
                  f"output.dir={EVIL}/\udcff\udcc0", f"name={LINE}", f"model.layers.1.Dense.name='{EVIL}'", f"dataset.element.y.vocabulary=[a{EVIL}, a{EVIL}]"):
        show("validate", "--format", word, "job.yaml", fault)
        if word == "text":
            show("fit", "job.yaml", fault, "--json")
show("data", "inspect", table)
show("data", "inspect", table, "--json")
show("data", "convert", "job.yaml", "-o", "t.csv")
show("fit", f"{EVIL}.yaml"); show("fit", "job.yaml", f"--{EVIL}"); show(EVIL); show("help", EVIL); show("explain", EVIL); show("config", "reference", EVIL)
show("fit", "job.yaml", EVIL); show("fit", "job.yaml", "--resume", EVIL); show("report", EVIL); show("ckpt", "ls", EVIL); show("topology", "--tpu", EVIL)
show("fit", "job.yaml", "--expect", EVIL); show("fit", "job.yaml", "--inject", EVIL); show("completions", EVIL); show("man", EVIL); show("trace", EVIL)
show("predict", "job.yaml", "--input", EVIL); show("data", "synth", EVIL); show("fit", "\udcff\udc9b.yaml")

# ---- pictures: names of files and folders
for kind in ("cat", EVIL.replace("/", "")):
    os.makedirs(f"pictures/{kind}", exist_ok=True)
    for i in range(6):
        png(f"pictures/{kind}/{i}{EVIL}.png")
open(f"pictures/cat/{EVIL}broken.png", "wb").write(b"\x89PNG\r\n\x1a\nbroken")
pictures = {"format": "image_folder", "train": "pictures", "global_batch_size": 4, "element": {"image": {"shape": [4, 4, 3], "dtype": "uint8"}, "label": {"num_classes": 2}},
            "map": {"image": [{"cast": "float32"}]}}
path = job("pictures.yaml", pictures, [{"Input": {"name": "image", "shape": [4, 4, 3]}}, "Flatten", {"Dense": {"units": 2, "name": "logits"}}], output="p")
for round in range(2):
    for words in (["fit", path], ["fit", path, "--json", "--fresh"], ["evaluate", path, "--split", "train"], ["predict", path, "--split", "train", "--top", "1"], ["data", "inspect", path],
                  ["data", "inspect", "pictures"], ["predict", path, "--input", "pictures/cat", "--format", "jsonl"], ["report", "p", "-o", "-"]):
        show(*words)
    os.path.exists(f"pictures/cat/{EVIL}broken.png") and os.remove(f"pictures/cat/{EVIL}broken.png")

# ---- a text, a checkpoint's own words
open("text.txt", "w").write((EVIL.replace("\ufeff", "") + "abc ") * 60)
path = job("text.yaml", {"format": "text", "train": "text.txt", "global_batch_size": 4, "element": {"tokens": {"shape": [8], "dtype": "int32"}}},
           [{"Input": {"name": "tokens", "shape": [8], "dtype": "int32"}}, {"Embedding": {"input_dim": 40, "output_dim": 4}}, {"Dense": {"units": 40, "name": "logits"}}],
           more={"callbacks": [{"GenerateText": {"every": 5, "prompt": "abc", "max_tokens": 40}}]}, output="t")
for words in (["fit", path], ["fit", path, "--json", "--fresh"], ["data", "inspect", "text.txt"], ["data", "inspect", path], ["report", "t", "-o", "-"]):
    show(*words)

# ---- what runs leave for people
for root, _, files in os.walk("."):
    for name in files:
        if name in ("report.html", "record.jsonl", "history.jsonl", "state.json", "log"):
            for f in faults(open(os.path.join(root, name), "rb").read()):
                print(f"{name}: {f}")
print("enough was run" if ran > 150 else f"only {ran} were run")
END
timeout 500 python3 "$TEST_DIR/test.py" "$DTRAIN" "$TEST_DIR"
