# SPDX-License-Identifier: Apache-2.0
"""The step of layers in float64 against central differences of the loss, along one random direction of all weights.

    python gradients.py DTRAIN DIRECTORY
"""
import json
import os
import subprocess
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

dtrain, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
STATES = "{name: a, units: 3, return_sequences: true, return_state: true}"
# the shape of an example, and the layers between the input x and the output
MODELS = {
    "ConvLSTM1D, called again with its states": ([3, 5, 2], "ConvLSTM1D: {name: a, filters: 2, kernel_size: 3, padding: same, return_state: true, return_sequences: true}, "
                                                 "ConvLSTM1D: {name: b, filters: 2, kernel_size: 3, padding: same, weights_of: a, inputs: [a, a/state_c, a/state_h]}"),
    "ConvLSTM2D": ([3, 5, 4, 2], "ConvLSTM2D: {filters: 2, kernel_size: [2, 3], strides: [2, 1], go_backwards: true}"),
    "ConvLSTM3D": ([2, 3, 3, 3, 2], "ConvLSTM3D: {filters: 2, kernel_size: 2, padding: same}"),
    "LSTM from the states of another": ([4, 3], f"LSTM: {STATES}, LSTM: {{name: b, units: 3, inputs: [x, a/state_c, a/state_h]}}"),
    "GRU, called again with its state": ([4, 3], f"GRU: {STATES}, GRU: {{name: b, units: 3, weights_of: a, inputs: [x, a/state_h]}}"),
    "states of a Bidirectional": ([4, 3], f"Bidirectional: {{name: a, layer: {{LSTM: {STATES.replace('name: a, ', '')}}}}}, LSTM: {{name: b, units: 3, inputs: [x, a/forward_state_c, a/backward_state_h]}}, "
                                  "Flatten: {name: c, inputs: a}, Concatenate: {inputs: [b, c, a/backward_state_c]}"),
    "scores of attention, a bias of its output": ([4, 3], "MultiHeadAttention: {name: a, num_heads: 2, key_dim: 3, use_bias: false, use_output_bias: true, return_attention_scores: true}, Flatten: {name: b, inputs: a}, "
                                                  "Flatten: {name: c, inputs: a/attention_scores}, Concatenate: {inputs: [b, c]}"),
    "layers called again": ([4, 3], "Dense: {name: a, units: 3, activation: tanh, kernel_regularizer: l2}, BatchNormalization: {name: b}, Dense: {name: c, units: 3, activation: tanh, weights_of: a}, "
                            "BatchNormalization: {name: d, weights_of: b}, Dense: {name: e, units: 3, weights_of: c}"),
}
JOB = """version: 1
dataset: {{format: npy, train: {{x: x.npy, y: y.npy}}, global_batch_size: 4}}
model: {{type: functional, layers: [Input: {{name: x, shape: {shape}, dtype: float64}}, {layers}, Flatten: {{name: flat}}, Dense: {{name: out, units: 2}}]}}
compile: {{optimizer: {{SGD: {{learning_rate: 1}}}}, loss: MeanSquaredError}}
fit: {{epochs: 1}}
output: {{dir: run}}
"""


def run(*words):
    done = subprocess.run([dtrain, *words], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def step(*words):
    """The loss before the only step, and the weights behind it."""
    lines = run("fit", "job.yaml", "--fresh", "--json", *words).splitlines()
    run("export", "job.yaml", "-o", "after.safetensors", "-q")
    return next(json.loads(line)["loss"] for line in lines if '"loss"' in line), load_file(f"{folder}/after.safetensors")


def step_from(weights):
    save_file(weights, f"{folder}/before.safetensors")
    return step("model.init_from=before.safetensors")


for name, (shape, layers) in MODELS.items():
    draw, width = np.random.default_rng(1), 1e-5
    np.save(f"{folder}/x.npy", draw.normal(size=(4, *shape)))
    np.save(f"{folder}/y.npy", draw.normal(size=(4, 2)))
    with open(f"{folder}/job.yaml", "w") as f:
        f.write(JOB.format(shape=shape, layers=layers))
    first = {k: draw.normal(0, 0.4, w.shape) if "moving" not in k else w for k, w in step()[1].items()}
    toward = {k: draw.normal(size=w.shape) if "moving" not in k else np.zeros(w.shape) for k, w in first.items()}
    after = step_from(first)[1]
    slope = sum(np.sum((first[k] - after[k]) * toward[k]) for k in first)
    ahead, behind = (step_from({k: w + sign * width * toward[k] for k, w in first.items()})[0] for sign in (1, -1))
    gap = abs(slope - (ahead - behind) / (2 * width)) / abs(slope)
    print(name, "within 1e-6" if gap <= 1e-6 else f"differs by {gap:.3g}")
