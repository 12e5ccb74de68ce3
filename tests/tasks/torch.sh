#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Take a ResNet that PyTorch trained, teach it another class, and give it back.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy safetensors torch) || exit 77
. tests/cli/pages.sh
page export
given resnet.py
given resnet.yaml
"$python" resnet.py || exit 1
mentions 'dtrain fit resnet.yaml'
mentions 'dtrain export resnet.yaml -o tuned.safetensors --names torch'
dtrain fit resnet.yaml -q || echo "exit $?"
dtrain export resnet.yaml -o tuned.safetensors --names torch -q || echo "exit $?"
dtrain predict resnet.yaml --input image.npy -o ours.npy -q || echo "exit $?"
"$python" - <<'END'
import numpy as np
import torch
from safetensors.torch import load_file
from resnet import ResNet

before, after = load_file("resnet.safetensors"), load_file("tuned.safetensors")
model = ResNet(3)
model.load_state_dict(after, strict=True)
x, y = torch.from_numpy(np.load("image.npy")).permute(0, 3, 1, 2), np.load("label.npy")
theirs = model.eval()(x).detach().numpy()
gap = np.abs(theirs - np.load("ours.npy")).max()
print("predictions within 1e-5" if gap < 1e-5 else gap)
right = (theirs[180:].argmax(1) == y[180:]).mean()
print("three classes" if right > 0.9 else f"accuracy {right}")
print("frozen:", *[k for k in after if torch.equal(before.get(k, after[k] + 1), after[k])])
END
