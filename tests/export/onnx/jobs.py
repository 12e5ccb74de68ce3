# SPDX-License-Identifier: Apache-2.0
"""Whole jobs: trained for two steps, exported, run by ONNX Runtime on raw examples, against `dtrain predict` of the same.

    python jobs.py DTRAIN DIRECTORY 'JOB OVERRIDE...'...

The examples are made here: bytes and floats of any value, integers that any vocabulary has. They go through the job's `map` in dtrain, and through
that of the exported graph there. Prints what differs, then a count.
"""
import os
import shlex
import subprocess
import sys

import numpy as np

ROWS = 5
DTYPES = {1: np.float32, 2: np.uint8, 6: np.int32, 7: np.int64, 11: np.float64}


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words[1:])}: exit {done.returncode}: {done.stderr.strip()}")


def examples(value, draw):
    kind = value.type.tensor_type
    shape = [ROWS] + [d.dim_value for d in kind.shape.dim[1:]]
    assert kind.shape.dim[0].dim_param == "batch", value
    dtype = DTYPES[kind.elem_type]
    if dtype == np.uint8:
        return draw.integers(0, 256, shape).astype(dtype)
    return (draw.integers(0, 8, shape) if issubclass(dtype, np.integer) else draw.normal(size=shape)).astype(dtype)


def predict(dtrain, where, job, feeds):
    for name, x in feeds.items():
        np.save(os.path.join(where, name + ".npy"), x)
    outputs = os.path.join(where, "outputs.npz")  # as the model gives them: CSV and JSON lines hold probabilities
    files = {name: os.path.abspath(os.path.join(where, name + ".npy")) for name in feeds}
    if len(files) == 1:
        run(dtrain, "predict", *job, "--input", *files.values(), "-o", outputs, "-q")
    else:
        data = "dataset={format: npy, global_batch_size: 5, train: {%s}}" % ", ".join(f"{n}: {f}" for n, f in files.items())
        run(dtrain, "predict", *job, "compile=", data, "--split", "train", "-o", outputs, "-q")
    with np.load(outputs) as arrays:
        return dict(arrays)


def differ(y, wanted, words):
    assert y.shape == wanted.shape and y.dtype == wanted.dtype, (y.shape, y.dtype, wanted.shape, wanted.dtype)
    scale = 100 if any("mixed_" in word for word in words) else 1  # a sum in another order may round to the next of few digits
    error = float(np.max(np.abs(y - wanted) / scale / (2e-5 + 2e-4 * np.abs(wanted))))
    return None if error <= 1 else f"differ by {error:.3g} times the tolerance"


def check(dtrain, where, words):
    import onnx
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    job, path = words + ["output.dir=" + os.path.join(where, "run")], os.path.join(where, "model.onnx")
    run(dtrain, "fit", *job, "--steps", "2", "--fresh", "-q")
    run(dtrain, "export", *job, "-o", path, "-q")
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    read = {name for node in model.graph.node for name in node.input}
    unread = [tensor.name for tensor in model.graph.initializer if tensor.name not in read]
    assert not unread, 'no node reads %s' % unread
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 18)]
    draw = np.random.default_rng(7)
    feeds = {value.name: examples(value, draw) for value in model.graph.input}
    wanted = predict(dtrain, where, job, feeds)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for rows in (ROWS, 1):
        for name, y in zip(wanted, session.run(list(wanted), {name: x[:rows] for name, x in feeds.items()})):
            if wrong := differ(y, wanted[name][:rows], words):
                return f"{rows} rows of {name} {wrong}"
    return None


def main(check, jobs):
    """Prints the jobs in which `check` finds something wrong, and their number."""
    dtrain, where = sys.argv[1], sys.argv[2]
    failed = 0
    for line in jobs:
        try:
            wrong = check(dtrain, where, shlex.split(line))
        except Exception as e:  # whatever the packages raise is told with its job
            wrong = f"{type(e).__name__}: {e}"
        if wrong:
            failed += 1
            print(f"{line}: {wrong}")
    print(f"{len(jobs)} jobs, {failed} wrong")


if __name__ == "__main__":
    main(check, sys.argv[3:])
