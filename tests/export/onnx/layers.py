# SPDX-License-Identifier: Apache-2.0
"""Layers of the recorded golden cases, exported and run by ONNX Runtime, against what Keras gave.

    python layers.py DTRAIN DIRECTORY GOLDEN.json...

Every case without an error that does not train: weights are written as safetensors, `dtrain export --without-map` writes the model, onnx.checker
looks at it with shapes inferred, ONNX Runtime computes it. Prints what differs, then a count.
"""
import json
import os
import subprocess
import sys

import numpy as np
from safetensors.numpy import save_file


def array(tensor):
    return np.array([float(v) if isinstance(v, str) else v for v in tensor["data"]], dtype=tensor["dtype"]).reshape(tensor["shape"])


def without_nulls(value):
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return value


def layers_of(case):
    if "layers" in case["in"]:
        return case["in"]["layers"], ""
    x = case["in"]["x"]
    config = dict(without_nulls(case["in"]["config"]), name="layer")
    if case["in"].get("use_causal_mask"):
        config["use_causal_mask"] = True
    return [{"Input": {"name": "x", "shape": x["shape"][1:], "dtype": x["dtype"]}}, {case["in"]["class"]: config}], "layer/"


def write_job(case, path):
    layers, prefix = layers_of(case)
    shape = case["in"]["x"]["shape"][1:]
    data = {"format": "synthetic", "examples": 2, "element": {"x": {"shape": shape, "dtype": "float32"}}, "global_batch_size": 1}
    model = layers if isinstance(layers, dict) else {"layers": layers}
    job = {"version": 1, "name": "layer", "strategy": {"type": "default"}, "dataset": data, "model": model}
    with open(path, "w") as f:
        json.dump(job, f)
    weights = {prefix + w["path"]: array(w["value"]) for w in case["in"].get("weights", [])}
    config = case["in"].get("config", {})
    if config.get("dropout", config.get("rate")):
        weights[prefix + "seed_generator/step"] = np.zeros((), np.int64)  # how often it drew: Keras keeps that elsewhere
    return weights


def check(dtrain, where, case):
    import onnx
    import onnxruntime

    job, weights, model = (os.path.join(where, name) for name in ("layer.yaml", "layer.safetensors", "layer.onnx"))
    save_file(write_job(case, job), weights)
    done = subprocess.run([dtrain, "export", job, "--ckpt", weights, "--without-map", "-o", model, "-q"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr.strip()}"
    onnx.checker.check_model(onnx.load(model), full_check=True)
    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    y = session.run(None, {"x": array(case["in"]["x"])})[0]
    return difference(y, array(case["out"]["y"]))


def difference(y, wanted):
    if y.shape != wanted.shape:
        return f"shape {y.shape}, not {wanted.shape}"
    error = np.max(np.abs(y - wanted) / (1e-5 + 1e-4 * np.abs(wanted))) if y.size else 0
    return f"differs by {error:.3g} times the tolerance" if not error <= 1 else None


def main(check):
    """Prints the cases in which `check` finds something wrong, and their number."""
    dtrain, where, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    cases = failed = 0
    for name in files:
        with open(name) as f:
            recorded = json.load(f)["cases"]
        for case in recorded:
            if case["op"] != "layer" or "out" not in case or case["in"].get("training"):
                continue
            cases += 1
            try:
                wrong = check(dtrain, where, case)
            except Exception as e:  # whatever the packages raise is told with its case
                wrong = f"{type(e).__name__}: {e}"
            if wrong:
                failed += 1
                print(f"{case['id']}: {wrong}")
    print(f"{cases} layers, {failed} wrong")


if __name__ == "__main__":
    main(check)
