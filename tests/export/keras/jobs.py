# SPDX-License-Identifier: Apache-2.0
"""Whole jobs: trained for two steps, exported as .keras and loaded by Keras, against `dtrain predict` of the same examples.

    python jobs.py DTRAIN DIRECTORY DRAWN 'JOB OVERRIDE...'...

Each layer that DIRECTORY/others names is a job, too: see ARGUMENTS. DRAWN models more are drawn: graphs whose branches have equal shapes, so that a weight in the wrong layer is seen only by its values. dtrain also
reads the archive again, model and weights, and must predict the same. Prints what differs, then a count.
"""
import importlib.util
import os
import random
import re
import sys

os.environ["KERAS_BACKEND"] = "numpy"
import keras
import numpy as np

spec = importlib.util.spec_from_file_location("onnx_jobs", os.path.join(os.path.dirname(__file__), "..", "onnx", "jobs.py"))
jobs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(jobs)


# arguments and the shape of an example where they are not those of the class's dimension
ARGUMENTS = {
    "Activation": ("activation: gelu", [5, 6]), "Reshape": ("target_shape: [6, -1]", [5, 6]), "Permute": ("dims: [2, 1]", [5, 6]),
    "RepeatVector": ("n: 3", [6]), "Flatten": ("", [5, 6]), "Identity": ("", [5, 6]), "GaussianDropout": ("rate: 0.3", [5, 6]),
    "GaussianNoise": ("stddev: 0.3", [5, 6]), "ActivityRegularization": ("l1: 0.1, l2: 0.2", [5, 6]), "Dot": ("axes: [2, 1]", [6, 6]), "ZeroPadding2D": ("padding: [[1, 2], [0, 1]]", [5, 6, 2]),
    "Cropping2D": ("cropping: [[1, 2], [0, 1]]", [5, 6, 2]), "DepthwiseConv2D": ("kernel_size: [2, 3], depth_multiplier: 2", [5, 6, 2]),
    "SeparableConv1D": ("filters: 3, kernel_size: 2, depth_multiplier: 2, activation: swish", [5, 2]),
}
# arguments of families of layers, by what their names begin with or contain
FAMILIES = {"Depthwise": "kernel_size: 2", "Conv": "filters: 3, kernel_size: 2, padding: same", "Dropout": "rate: 0.3"}
REFUSED = ["LayerOutput", "LlamaAttention", "Take"]  # not Keras'


def alone(tiny, name):
    """A job with the layer on an input of as many dimensions as its name has, twice where it joins."""
    arguments, shape = ARGUMENTS.get(name, ("", None))
    for part, text in FAMILIES.items():
        arguments = arguments or (text if part in name else "")
    sides = re.search("([123])D", name)
    shape = shape or ([5, 6, 7][: int(sides[1])] + [2] if sides else [6])
    joins = name in ("Add", "Average", "Concatenate", "Dot", "Maximum", "Minimum", "Multiply", "Subtract")
    comma = ", " if arguments else ""
    layers = [f"Input: {{name: x, shape: {shape}}}", f"Dense: {{name: d, units: {shape[-1]}, inputs: x}}"]
    layers += [f"{name}: {{{arguments}{comma}name: it, inputs: {'[x, d]' if joins else 'd'}}}"]
    layers += ["Flatten: {name: flat, inputs: it}", "Dense: {name: y, units: 4, activation: softmax, inputs: flat}"]
    data = f"dataset={{format: synthetic, examples: 16, global_batch_size: 8, element: {{x: {{shape: {shape}}}, label: {{num_classes: 4}}}}}}"
    return f"{tiny} '{data}' 'model={{type: functional, layers: [{', '.join(layers)}]}}'"


def examples(tensor, draw):
    shape, dtype = [jobs.ROWS, *tensor.shape[1:]], tensor.dtype
    return (draw.integers(0, 5, shape) if "int" in dtype else draw.normal(size=shape)).astype(dtype)


def check_weights(dtrain, where, job, loaded):
    """The file of weights alone, read into the model after its weights were erased."""
    path = os.path.join(where, "model.weights.h5")
    jobs.run(dtrain, "export", *job, "-o", path, "-q")
    saved = [v for v in loaded.weights if "seed" not in v.path]
    wanted = [np.array(v) for v in saved]
    for v in saved:
        v.assign(np.zeros(v.shape))
    loaded.load_weights(path)
    return None if all(np.array_equal(w, np.array(v)) for w, v in zip(wanted, saved)) else "load_weights reads other weights"


def check(dtrain, where, words):
    job = words + ["output.dir=" + os.path.join(where, "run")]
    model, weights = os.path.abspath(os.path.join(where, "model.keras")), os.path.join(where, "back.safetensors")
    jobs.run(dtrain, "fit", *job, "--steps", "2", "--fresh", "-q")
    jobs.run(dtrain, "export", *job, "-o", model, "-q")
    loaded = keras.saving.load_model(model, safe_mode=True)
    draw = np.random.default_rng(7)
    feeds = {tensor.name: examples(tensor, draw) for tensor in loaded.inputs}
    wanted = jobs.predict(dtrain, where, job, feeds)
    for rows in (jobs.ROWS, 1):
        x = [feeds[tensor.name][:rows] for tensor in loaded.inputs]
        y = loaded(x if len(x) > 1 else x[0])
        for name, value in zip(wanted, y if isinstance(y, (list, tuple)) else [y]):
            error = np.max(np.abs(np.asarray(value) - wanted[name][:rows]))
            if not error <= 1e-5:
                return f"{rows} rows of {name} differ by {error:.3g}"
    fault = check_weights(dtrain, where, job, loaded)
    if fault:
        return fault
    jobs.run(dtrain, "ckpt", "convert", model, "-o", weights, "-q")
    again = jobs.predict(dtrain, where, [*job, f"model={{keras_config: {model}}}", "--ckpt", weights], feeds)
    if list(again) != list(wanted) or any(not np.allclose(again[n], wanted[n], rtol=0, atol=1e-6) for n in wanted):
        return "read again, it predicts otherwise"
    return None


def drawn(tiny, seed):
    """A graph of layers of one width over steps of a sequence, with masks in between."""
    draw = random.Random(seed)
    names, layers = ["x"], ["Input: {name: x, shape: [3, 4]}"]
    for i in range(draw.randint(4, 12)):
        kind = draw.choice(["Dense: {units: 4, activation: tanh", "Dense: {units: 4", "Add: {", "Average: {", "Masking: {mask_value: 0.25",
                            "LSTM: {units: 4, return_sequences: true", "GRU: {units: 4, return_sequences: true"])
        joins = kind.startswith(("Add", "Average"))
        inputs = draw.sample(names, min(len(names), draw.randint(2, 3))) if joins else [draw.choice(names)]
        if joins and len(inputs) < 2:
            continue
        comma = "" if kind.endswith("{") else ", "
        layers.append(f"{kind}{comma}name: n{i}, inputs: {'[' + ', '.join(inputs) + ']' if joins else inputs[0]}}}")
        names.append(f"n{i}")
    ends = [n for n in names[1:] if not any(f"inputs: {n}}}" in l or f", {n}" in l or f"[{n}" in l for l in layers)]
    tail = ends[0] if len(ends) == 1 else "all"
    if len(ends) > 1:
        layers.append(f"Add: {{name: all, inputs: [{', '.join(ends)}]}}")
    layers += [f"Flatten: {{name: flat, inputs: {tail}}}", "Dense: {name: y, units: 4, activation: softmax, inputs: flat}"]
    data = "dataset={format: synthetic, examples: 16, global_batch_size: 8, element: {x: {shape: [3, 4]}, label: {num_classes: 4}}}"
    return f"{tiny} '{data}' 'model={{type: functional, layers: [{', '.join(layers)}]}}'"


tiny = sys.argv[4].split()[0]
with open(os.path.join(sys.argv[2], "others")) as f:
    others = [name for name in f.read().split() if name not in REFUSED]
jobs.main(check, sys.argv[4:] + [alone(tiny, name) for name in others] + [drawn(tiny, seed) for seed in range(int(sys.argv[3]))])
