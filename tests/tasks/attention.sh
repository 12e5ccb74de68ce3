#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An encoder and a decoder with attention between them, as the page has them; the same with Attention, and as a Keras file.
. tests/cli/setup.sh
. tests/cli/pages.sh
page recipes
step "awk 'function digit()"
given pairs.yaml
step 'dtrain fit pairs.yaml'
cut -c 1-9 said | uniq
dtrain evaluate pairs.yaml --expect 'accuracy > 0.99' -q
sed 's/MultiHeadAttention: {name: look, num_heads: 2, key_dim: 16,/Attention: {name: look,/' pairs.yaml >plain.yaml
dtrain fit plain.yaml -q output.dir=runs/plain --expect 'val_accuracy > 0.9'
dtrain export pairs.yaml -o pairs.onnx -q
dtrain export pairs.yaml -o pairs.keras -q
