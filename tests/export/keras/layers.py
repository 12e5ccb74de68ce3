# SPDX-License-Identifier: Apache-2.0
"""Layers of the recorded golden cases, exported as .keras and run by Keras, against what Keras gave.

    python layers.py DTRAIN DIRECTORY GOLDEN.json...

Layers that keras.layers lacks must be refused by name; those that no case has are written to DIRECTORY/others, for jobs.py. `ckpt convert` must give the weights back, and dtrain must read the model again.
"""
import importlib.util
import json
import os
import subprocess
import sys

os.environ["KERAS_BACKEND"] = "numpy"
import keras
import numpy as np
from safetensors.numpy import load_file, save_file

spec = importlib.util.spec_from_file_location("golden", os.path.join(os.path.dirname(__file__), "..", "onnx", "layers.py"))
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)
refused, loaded = set(), set()
# cases that Keras 3.15.1 on NumPy does not compute: why
NOT_LOADED = {"layers/027-softmax-1-2": "several axes are a list in a file of Keras, which its max() does not take"}


def classes(case):
    listed = golden.layers_of(case)[0]
    listed = listed["layers"] if isinstance(listed, dict) else listed
    return [entry if isinstance(entry, str) else next(iter(entry)) for entry in listed]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, f"exit {done.returncode}: {done.stderr.strip()}"


def as_integers(case):
    text = json.dumps(case["in"]).replace('{"name": "x", ', '{"name": "x", "dtype": "int32", ')
    return {**case, "in": {**json.loads(text), "x": {**case["in"]["x"], "dtype": "int32"}}}


def check_return(dtrain, job, weights, model, back):
    """What is wrong with the model as dtrain reads it again."""
    code, text = run(dtrain, "ckpt", "convert", model, "-o", back, "-q")
    if code:
        return text
    ours, theirs = {n: w for n, w in load_file(weights).items() if "seed_generator" not in n}, load_file(back)
    if sorted(ours) != sorted(theirs) or not all(np.array_equal(ours[n], theirs[n]) for n in ours):
        return f"weights came back as {sorted(theirs)}"
    code, text = run(dtrain, "config", "show", job, f"model={{keras_config: {model}}}")
    return f"read again: {text}" if code else None


def check(dtrain, where, case):
    job, weights, model, back = (os.path.join(where, name) for name in ("layer.yaml", "layer.safetensors", "layer.keras", "back.safetensors"))
    if "CategoryEncoding" in classes(case):
        case = as_integers(case)  # Keras' NumPy takes no floats as indices
    save_file(golden.write_job(case, job), weights)
    code, text = run(dtrain, "export", job, "--ckpt", weights, "-o", model, "-q")
    lacking = [name for name in classes(case) if not hasattr(keras.layers, name) and name not in ("Input", "Repeat")]
    if lacking:
        refused.update(lacking)
        return None if code == 78 and f"is a {lacking[0]} of " in text else f"{lacking} {text}"
    for key, value in (("use_output_bias", "true"), ("use_key_bias", "false"), ("qk_norm", '"rms_norm_across_heads"')):
        if f'"{key}": {value}' in json.dumps(case["in"]):
            return None if code == 78 and key in text and "which Keras" in text else text
    if code:
        return text
    loaded.update(classes(case))
    if case["id"] in NOT_LOADED:
        return None
    y = keras.saving.load_model(model, safe_mode=True)(golden.array(case["in"]["x"]))
    wrong = golden.difference(np.asarray(y), golden.array(case["out"]["y"]))
    return wrong or check_return(dtrain, job, weights, model, back)


def every_layer(dtrain):
    """The names of dtrain's layers."""
    text = subprocess.run([dtrain, "config", "reference"], capture_output=True, text=True).stdout
    part = text.split("\n## Layers\n")[1].split("\n## ")[0]
    return {line[4:].strip() for line in part.splitlines() if line.startswith("### ")} - {"Input", "Repeat"}


golden.main(check)
print("refused:", *sorted(refused))
with open(os.path.join(sys.argv[2], "others"), "w") as f:
    f.write(" ".join(sorted(every_layer(sys.argv[1]) - loaded - refused)))
