# SPDX-License-Identifier: Apache-2.0
# Damaged runs: damaged.py FOLDER DTRAIN [COUNT [SEED]]. In the folder a tiny job is trained once undisturbed; then one file of a copy of its run is damaged and
# every verb that reads runs is called. None may crash, none may give a wrong result without saying anything: what ends with 0 has the bits of the undisturbed run,
# or those of an older checkpoint with a warning. Prints what breaks that, with the seed and the number of the damage.
import glob, json, os, random, shutil, subprocess, sys, time

folder, dtrain, *rest = sys.argv[1:]
count = int(rest[0]) if rest else 24
seed = int(rest[1]) if len(rest) > 1 else time.time_ns() % 1_000_000_007
os.chdir(folder)
JOB, WHOLE, RUN = "job.yaml", "whole", "run"
faults = 0


def call(*words):
    p = subprocess.run([dtrain, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    return p.returncode, p.stdout, p.stderr.decode(errors="replace")


def fresh(source=WHOLE):
    shutil.rmtree(RUN, ignore_errors=True)
    shutil.copytree(source, RUN)


def fit():
    code, out, err = call("fit", JOB, "--json", "fit.epochs=4")
    lines = [json.loads(x) for x in out.splitlines()]
    return code, [x.get("weights_sha256") for x in lines if "weights_sha256" in x][-1:], err


def history():
    """Of the epochs what the training gave, without times."""
    kept = []
    for line in open(RUN + "/history.jsonl", "rb"):
        try:
            x = json.loads(line)
        except ValueError:
            return None
        kept.append({k: v for k, v in x.items() if k in ("epoch", "step", "loss", "accuracy", "val_loss", "val_accuracy")})
    return kept


def evaluate():
    return call("evaluate", JOB, "--json")


def numbers(out):
    keys = ("loss", "accuracy", "checkpoint", "weights_sha256")
    lines = [{k: v for k, v in json.loads(x).items() if k in keys} for x in out.splitlines()]
    return [x for x in lines if x]


def predict():
    code, out, err = call("predict", JOB, "--split", "validation", "-o", "rows.jsonl")
    return code, open("rows.jsonl", "rb").read() if code == 0 else out, err


def changed(r, old):
    """One damage of some bytes, and its name."""
    kind = r.choice(["flip", "cut", "zero", "twice", "empty", "noise", "longer"])
    at = r.randrange(max(len(old), 1))
    if kind == "flip":
        return f"bit of byte {at}", old[:at] + bytes([old[at] ^ 1 << r.randrange(8)]) + old[at + 1:] if old else b"x"
    if kind == "cut":
        return f"cut at {at}", old[:at]
    if kind == "zero":
        n = r.randrange(1, 65)
        return f"{n} zeros at {at}", old[:at] + bytes(len(old[at:at + n])) + old[at + n:]
    if kind == "twice":
        return "twice", old + old
    if kind == "empty":
        return "empty", b""
    if kind == "noise":
        n = r.randrange(1, 33)
        return f"noise at {at}", old[:at] + r.randbytes(n) + old[at + n:]
    return "longer", old + r.randbytes(r.randrange(1, 99))


def damage(r):
    """Changes one file below RUN; its name, how, and whether it held anything else before."""
    files = sorted(x for x in glob.glob(RUN + "/**", recursive=True) if os.path.isfile(x))
    file = r.choice(files)
    old = open(file, "rb").read()
    kind = r.randrange(10)
    if kind == 0:
        os.remove(file)
        return file, "removed", True
    others = [x for x in files if os.path.basename(x) == os.path.basename(file) and x != file]
    if kind == 1 and others:
        new = open(r.choice(others), "rb").read()
        how = "another one's"
    elif kind == 2 and "ckpt" in file:
        a, b = sorted(glob.glob(RUN + "/ckpt/*"))[-2:]
        os.rename(a, RUN + "/x"), os.rename(b, a), os.rename(RUN + "/x", b)
        return RUN + "/ckpt", "two checkpoints with each other's names", True
    else:
        how, new = changed(r, old)
    with open(file, "wb") as f:
        f.write(new)
    return file, how, new != old


def look(name, what):
    """what is reported about the damage `name`."""
    global faults
    faults += 1
    print(f"seed {seed}: {name}: {what}")


def check(name, file, real):
    shutil.rmtree("kept", ignore_errors=True)
    shutil.copytree(RUN, "kept")
    for verb, of in (("evaluate", evaluate), ("predict", predict)):
        code, out, err = of()
        if code not in (0, 65):
            look(name, f"{verb}: exit {code}: {err.strip()}")
        elif code == 65 and "[DT" not in err:
            look(name, f"{verb}: exit 65 without an error: {err.strip()}")
        elif code == 0:
            got = numbers(out) if verb == "evaluate" else out
            if got != good[verb][-1] and not (got in good[verb] and "warning" in err):
                look(name, f"{verb}: another result, which says: {err.strip() or 'nothing'}")
    for words in (("ckpt", "ls", RUN), ("ckpt", "verify", RUN), ("ckpt", "inspect", RUN), ("report", RUN, "-o", "page.html")):
        code, out, err = call(*words)
        if code not in (0, 65):
            look(name, f"{' '.join(words)}: exit {code}: {err.strip()}")
        if real and words[1] == "verify" and "/ckpt" in file and code == 0:
            look(name, "ckpt verify finds nothing")
    shutil.rmtree(RUN)
    shutil.move("kept", RUN)
    code, weights, err = fit()
    if code == 65 and "[DT" in err:
        return
    if code != 0:
        look(name, f"fit: exit {code}: {err.strip()}")
    elif weights != good["fit"]:
        look(name, f"fit: other weights {weights}, which says: {err.strip() or 'nothing'}")
    elif history() != good["history"] and "warning" not in err:
        look(name, "fit: another history without a warning")


open(JOB, "w").write("""version: 1
seed: 7
dataset:
  format: synthetic
  examples: 60
  element: {image: {shape: [8], dtype: float32}, label: {num_classes: 3}}
  validation_split: 0.2
  shuffle: true
  global_batch_size: 8
model:
  layers: [Input: {name: image, shape: [8]}, Dense: {units: 4, activation: relu}, Dense: {units: 3, name: logits}]
compile:
  optimizer: {Adam: {learning_rate: 0.05}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit:
  epochs: 3
  callbacks: [EarlyStopping: {monitor: loss, patience: 50, restore_best_weights: true}]
output: {dir: run}
""")
shutil.rmtree(RUN, ignore_errors=True)
good = {"evaluate": [], "predict": []}
for epochs in (1, 2, 3):
    code, _, err = call("fit", JOB, f"fit.epochs={epochs}", "-q")
    assert code == 0, err
    good["evaluate"].append(numbers(evaluate()[1]))
    good["predict"].append(predict()[1])
shutil.rmtree(WHOLE, ignore_errors=True)
shutil.copytree(RUN, WHOLE)
code, good["fit"], err = fit()
assert code == 0 and good["fit"], err
good["history"] = history()
for i in range(count):
    r = random.Random(f"{seed} {i}")
    fresh()
    file, how, real = damage(r)
    check(f"{i}: {file}: {how}", file, real)
print(f"{count} damages" if faults == 0 else f"{faults} faults")
