#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Places of images by the loss Circle, as the page has it: an image's nearest neighbour has its digit, and a second
# replica changes no bit.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy) || exit 77
. tests/cli/pages.sh
page recipes
step 'dtrain data synth digits -o digits'
given near.yaml
step 'dtrain fit near.yaml'
step 'dtrain predict near.yaml'
cat said
"$python" - <<'END'
import numpy as np
place = np.load("places.npy")
label = np.frombuffer(open("digits/t10k-labels-idx1-ubyte", "rb").read()[8:], np.uint8)
if not np.allclose((place * place).sum(1), 1, atol=1e-5):
    print("rows are not of length 1")
alike = place @ place.T
np.fill_diagonal(alike, -1)
share = (label[alike.argmax(1)] == label).mean()
print("a neighbour of the same digit: %s" % ("yes" if 0.96 < share < 0.98 else share))
END
dtrain fit near.yaml -q output.dir=runs/two 'strategy={type: mirrored, devices: ["CPU:0", "CPU:1"]}'
dtrain ckpt diff runs/near runs/two
