# SPDX-License-Identifier: Apache-2.0
"""Records gradients.json: gradients of first steps in float64, and the error of JAX's float32.

    make all build/tests/pjrt/fake_device.so
    python tests/golden/record_gradients.py [NAME...]

`dtrain lower` prints what a step is for the tests' plug-in, as StableHLO: for XLA on the CPU sums
would be in blocks, which JAX does not ask for. jaxlib compiles that text for the CPU as it is, and
once more with every float32 widened to float64. Initial weights are those behind a step with a
learning rate of 1e-30; the batch is written by `dtrain data convert --mapped`.
The optimizer is SGD with momentum, whose momentum behind the first step is the gradient, negated.

Rates of dropout are 0: the number of the step, which its random numbers need, is not filled in.
ReLUs behind many sums are silu: one of a million lies so near 0 that float32 sees the other side,
which the first layers' gradients feel to a percent. Series of recurrent layers are short: XLA takes
minutes to compile 40 steps that stand one behind the other.

Recorded of each tensor: its shape, its largest absolute value, the largest error of JAX's float32,
and up to 64 values in float64, at places drawn with a fixed seed. It uses internals of jaxlib.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

os.environ["JAX_ENABLE_X64"] = "1"
import jax
import numpy as np
from jax._src.lib import xla_client
from safetensors.numpy import load_file

HERE = os.path.dirname(os.path.abspath(__file__))
DTRAIN = os.environ.get("DTRAIN", "build/dtrain")
PLUGIN = os.path.abspath("build/tests/pjrt/fake_device.so")
ONE = "strategy={type: mirrored, replicas: 1}"
SMOOTH = "{Activation: {activation: silu}}"
NAMED = "{Activation: {name: %s, activation: silu}}"


def synthetic(batch, element):
    sizes = "examples: %d, global_batch_size: %d" % (batch, batch)
    return "dataset={format: synthetic, %s, element: %s}" % (sizes, element)


DIGITS = "{image: {shape: [%s]}, label: {num_classes: 10}}"
TOKENS = "{tokens: {num_classes: 65, shape: [%d]}, targets: {num_classes: 65, shape: [%d]}}"
SPARSE = "compile.loss={SparseCategoricalCrossentropy: {from_logits: %s}}"

# What jobs of configs/ need to run on generated data, one batch of it, on one device.
CONFIGS = {
    "quickstart": [synthetic(64, DIGITS % "28, 28")],
    "mirrored-mlp": [synthetic(64, DIGITS % "784"), SPARSE % "false"],
    "tpu-loop": [synthetic(64, DIGITS % "784"), SPARSE % "true"],
    "char-gpt-small": [synthetic(12, TOKENS % (64, 64))],
    "char-gpt": ["partition=null", synthetic(1, TOKENS % (256, 256)),
                 "model.layers.2.Repeat.for.i=[0, 1]",
                 "model.layers.2.Repeat.layers.0.TransformerDecoder.dropout=0"],
    "char-moe": [synthetic(16, TOKENS % (32, 32))],
    "resnet20": [synthetic(8, DIGITS % "32, 32, 3"), f"model.layers.3={NAMED % 'stem'}"]
    + [f"model.layers.{i}.Repeat.layers.2={SMOOTH}" for i in (4, 14, 24)]
    + ["model.layers.%d.Repeat.layers.6=%s" % (i, NAMED % '"{block}"') for i in (4, 14, 24)]
    + [f"model.layers.{i}={SMOOTH}" for i in (9, 19)]
    + [f"model.layers.13={NAMED % 'block_2a'}", f"model.layers.23={NAMED % 'block_3a'}"],
    "spatial-cnn": ["partition=null", "model.layers.0.Input.shape=[64, 64, 3]",
                    f"model.layers.1.Repeat.layers.2={SMOOTH}",
                    synthetic(4, "{image: {shape: [64, 64, 3]}, label: {num_classes: 4}}")],
}
COMMON = [ONE, "dataset.shuffle=false", "compile.metrics=null", "fit={epochs: 1}"]
OPTIMIZER = "compile.optimizer={SGD: {learning_rate: %s, momentum: 0.5}}"


def dtrain(*args):
    done = subprocess.run([DTRAIN, *args], capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: %d\n%s" % (" ".join(args[:2]), done.returncode, done.stderr[-2000:]))
    return done.stdout


def behind_one_step(job, overrides, rate, folder):
    run = os.path.join(folder, "run")
    shutil.rmtree(run, ignore_errors=True)
    dtrain("fit", job, "-q", "--steps", "1", "output.dir=" + run, *overrides, OPTIMIZER % rate)
    tensors = {}
    for file in glob.glob(run + "/ckpt/*/*.safetensors"):
        tensors.update(load_file(file))
    return tensors


def widened(text):
    text = re.sub(r"(?<=[x<])f32(?=[>,])", "f64", text)
    for narrow in ("0xFF800000", "0x7F800000", "0x7FC00000"):  # infinities, not a number
        wide = np.array(int(narrow, 16), np.uint32).view(np.float32).astype(np.float64)
        text = text.replace(narrow, "0x%016X" % wide.view(np.uint64))
    return text


DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "ui8": np.uint8,
          "ui32": np.uint32, "i8": np.int8, "i1": np.bool_}
ARGUMENT = re.compile(r'^\s+%\d+: tensor<([^>]*)>(?: \{[^}]*aliasing_output = (\d+)[^}]*\})? '
                      r'loc\("([^"]*)"\)', re.M)


def gradients(text, weights, data, wide):
    device = jax.devices("cpu")[0]
    options = xla_client.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    if wide:  # how loops are compiled does not matter here, and recurrent layers would take minutes
        options.executable_build_options.debug_options.xla_backend_optimization_level = 0
        options.executable_build_options.debug_options.xla_llvm_disable_expensive_passes = True
    form = widened(text) if wide else text
    program = device.client.compile_and_load(form, xla_client.DeviceList((device,)), options)
    arguments, results = [], {}
    for of, result, name in ARGUMENT.findall(text):
        *dim, dtype = of.split("x")
        dim, is_data = [int(d) for d in dim], not result and not name.startswith("@")
        name = name.lstrip("@")
        if name == "example_id":
            value = np.arange(dim[0])
        elif is_data:
            value = data[name].reshape(dim)
        elif name.startswith("optimizer/"):
            value = np.zeros(dim)
        else:
            value = weights[name].reshape(dim)
        if name.endswith("/momentum"):
            results[name] = int(result)
        dtype = DTYPES["f64" if wide and dtype == "f32" else dtype]
        arguments.append(jax.device_put(value.astype(dtype), device))
    out = program.execute_sharded(arguments).disassemble_into_single_device_arrays()
    return {name: -np.asarray(out[i][0], np.float64) for name, i in results.items()}


def record(name, job, overrides):
    with tempfile.TemporaryDirectory() as folder:
        batch = folder + "/batch.npz"
        dtrain("data", "convert", job, "-o", batch, "--mapped", *overrides)
        weights = behind_one_step(job, overrides, "1e-30", folder)
        own = behind_one_step(job, overrides, "1.0", folder)
        text = dtrain("lower", job, "--stage", "executable", "--backend", "pjrt",
                      "--plugin", PLUGIN, *overrides, OPTIMIZER % "1.0")
        text = text[text.index("module @"):]
        data = np.load(batch)
        exact, narrow = gradients(text, weights, data, True), gradients(text, weights, data, False)
    random, tensors, worst = np.random.default_rng(64), [], (0, "")
    for k, x in sorted(exact.items()):
        at = np.sort(random.choice(x.size, min(x.size, 64), replace=False))
        error, most = float(np.abs(narrow[k] - x).max()), float(np.abs(x).max())
        tensors.append({"name": k, "shape": list(x.shape), "max": most, "jax": error,
                        "at": at.tolist(), "value": x.ravel()[at].tolist()})
        ours = float(np.abs(own[k] + x).max())
        worst = max(worst, (ours / max(error, 2.0**-23 * most, 1e-30), k, ours, error, most))
    print(name, "worst: %.2f of JAX's, %s: %.1e, JAX %.1e, largest %.1e" % worst, flush=True)
    overrides = [*overrides, OPTIMIZER % "1.0"]
    return {"name": name, "job": job, "overrides": overrides, "tensors": tensors}


def main(*names):
    path = HERE + "/gradients.json"
    cases = {n: (f"configs/{n}.yaml", o + COMMON) for n, o in CONFIGS.items()}
    for file in sorted(glob.glob("tests/golden/gradients/*.yaml")):
        cases[os.path.basename(file)[:-5]] = (file, [])
    recorded = {}
    if names and os.path.exists(path):
        recorded = {c["name"]: c for c in json.load(open(path))["cases"]}
    for name in names or cases:
        recorded[name] = record(name, *cases[name])
    with open(path, "w") as out:
        lines = [json.dumps(recorded[n], separators=(",", ":")) for n in cases if n in recorded]
        out.write('{"format": 1, "area": "gradients", "program": "gradient_golden_test",\n'
                  '"cases": [\n%s\n]}\n' % ",\n".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
