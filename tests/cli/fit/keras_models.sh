#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: model export
# Models within models and layers that are called several times, from Keras and back: the same predictions, before and after training.
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the values are those of the plain build; import_test runs this code under sanitizers" && exit 77; fi
python=$(scripts/python-tools numpy h5py jax keras) || exit 77
# `ckpt convert` reads HDF5 by libhdf5: h5py's, unless there is another
for lib in "$("$python" -c 'import h5py, os; print(os.path.dirname(h5py.__file__))')"/../h5py.libs/libhdf5-*.so.*; do
    mkdir -p "$TEST_DIR/lib" && ln -sf "$lib" "$TEST_DIR/lib/libhdf5.so"
    LD_LIBRARY_PATH="$TEST_DIR/lib:$(dirname "$lib")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export LD_LIBRARY_PATH
done
"$python" tests/cli/fit/keras_models.py "$DTRAIN" "$TEST_DIR" 2>"$TEST_DIR/err" || cat "$TEST_DIR/err"
