#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Take a model that dtrain trained to Keras: load it, evaluate it, train it further.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy jax keras pandas h5py) || exit 77
. tests/cli/pages.sh
page coming-from-keras
step 'cat > keras.yaml'
step awk
step 'dtrain fit keras.yaml'
step 'dtrain export keras.yaml -o flowers.keras'
cat said
given back.py
dtrain evaluate keras.yaml | head -n 1
KERAS_BACKEND=jax TF_CPP_MIN_LOG_LEVEL=3 "$python" back.py 2>err || cat err
