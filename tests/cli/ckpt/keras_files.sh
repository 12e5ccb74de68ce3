#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Weights in the files that Keras writes (.keras, .weights.h5, .h5) become safetensors, with which dtrain predicts as Keras did. Reads HDF5 by libhdf5.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy h5py jax keras) || exit 77 # Keras computes with NumPy by jax
"$python" tests/cli/ckpt/keras_models.py "$TEST_DIR" 2>"$TEST_DIR/err" || { cat "$TEST_DIR/err"; exit 1; }
cd "$TEST_DIR" || exit 1
"$DTRAIN" ckpt convert m.keras -o none.safetensors >none 2>&1 || status=$?
if [ "${status:-0}" = 69 ]; then
    # without libhdf5: the error says what to install; that of h5py does for the rest
    has none 'install libhdf5'
    for lib in "$("$python" -c 'import h5py, os; print(os.path.dirname(h5py.__file__))')"/../h5py.libs/libhdf5-*.so.*; do
        mkdir -p lib && ln -sf "$lib" "lib/libhdf5.so"
        LD_LIBRARY_PATH="$TEST_DIR/lib:$(dirname "$lib")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
        export LD_LIBRARY_PATH
    done
    [ -e lib/libhdf5.so ] || exit 77
fi
cat >job.yaml <<'END'
version: 1
name: k
strategy: {type: default}
dataset: {format: npy, train: {x: x.npy, label: y.npy}, global_batch_size: 8}
model: {keras_config: m.keras}
compile: {optimizer: {SGD: {learning_rate: 0.1}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: run}
END
for file in m.keras m.weights.h5 m.h5 tf.h5; do
    show ckpt convert $file -o w.safetensors
    exits 0 predict job.yaml --ckpt w.safetensors --input x.npy -o q.npy -q
    "$python" -c 'import numpy as np
gap = abs(np.load("p.npy") - np.load("q.npy")).max()
print("predictions within 1e-5" if gap < 1e-5 else gap)'
done
# float64, which Keras' NumPy backend rounds to float32 in places
exits 0 ckpt convert wide.keras -o w.safetensors -q
exits 0 predict job.yaml model.keras_config=wide.keras dataset.train.x=x64.npy --ckpt w.safetensors --input x64.npy -o q.npy -q
"$python" -c 'import numpy as np
q = np.load("q.npy")
print(q.dtype, "within 1e-5" if abs(np.load("p64.npy") - q).max() < 1e-5 else "differ")'
# another verb names the command
show ckpt inspect m.keras
show fit job.yaml model.init_from=m.weights.h5 -q
# what is damaged, or wants more than one file and its memory
for file in link loop large text scale cut bent; do
    show ckpt convert $file.h5 -o bad.safetensors
    [ ! -e bad.safetensors ] || echo "$file: written"
done
