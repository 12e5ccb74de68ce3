#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A .keras archive: Keras loads it, without custom code, and predicts what dtrain does; dtrain reads it again. No library is needed to write it.
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the values are those of the plain build; tests/tasks/back_to_keras.sh runs this code under sanitizers" && exit 77; fi
python=$(scripts/python-tools numpy h5py jax keras safetensors) || exit 77 # Keras computes with NumPy by jax
write_tiny
TF_CPP_MIN_LOG_LEVEL=3
export TF_CPP_MIN_LOG_LEVEL
# `ckpt convert` reads HDF5 by libhdf5: h5py's, unless there is another
for lib in "$("$python" -c 'import h5py, os; print(os.path.dirname(h5py.__file__))')"/../h5py.libs/libhdf5-*.so.*; do
    mkdir -p "$TEST_DIR/lib" && ln -sf "$lib" "$TEST_DIR/lib/libhdf5.so"
    LD_LIBRARY_PATH="$TEST_DIR/lib:$(dirname "$lib")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export LD_LIBRARY_PATH
done
# each layer of the golden cases
"$python" tests/export/keras/layers.py "$DTRAIN" "$TEST_DIR" tests/golden/*layers.json 2>"$TEST_DIR/err" || cat "$TEST_DIR/err"
# whole jobs, and drawn graphs
tokens='dataset={format: synthetic, examples: 16, global_batch_size: 8, element: {tokens: {shape: [6], dtype: int32, num_classes: 9}, label: {num_classes: 4}}}'
masked() {
    echo "$tiny '$tokens' 'model={type: functional, layers: [Input: {name: tokens, shape: [6], dtype: int32}, \
        Embedding: {name: e, input_dim: 9, output_dim: 4, mask_zero: true}, $1, Flatten, Dense: {units: 4, activation: softmax}]}'"
}
volume='dataset={format: synthetic, examples: 16, global_batch_size: 8, element: {x: {shape: [8, 8, 2]}, label: {num_classes: 4}}}'
pictures() {
    echo "$tiny '$volume' 'model={layers: [Input: {name: x, shape: [8, 8, 2]}, $1, Flatten, Dense: {units: 4, activation: softmax}]}'"
}
# the operations of the mask put layer a before layer b, though the walk from the output meets b first
steps='dataset={format: synthetic, examples: 16, global_batch_size: 8, element: {x: {shape: [3, 4]}, label: {num_classes: 4}}}'
order="$tiny '$steps' 'model={type: functional, layers: [Input: {name: x, shape: [3, 4]}, Dense: {name: a, units: 4, inputs: x}, Dense: {name: b, units: 4, inputs: x}, \
    Masking: {name: m, mask_value: 0.25, inputs: a}, ReLU: {name: e, inputs: b}, LSTM: {name: la, units: 4, inputs: m}, LSTM: {name: lb, units: 4, inputs: e}, \
    Add: {name: s, inputs: [lb, la]}, Dense: {name: y, units: 4, activation: softmax, inputs: s}]}'"
translation="$tiny '$steps' 'model={type: functional, layers: [Input: {name: x, shape: [3, 4]}, Bidirectional: {name: e, inputs: x, layer: {LSTM: {units: 2, return_sequences: true, return_state: true}}}, \
    LSTM: {name: d, units: 2, return_sequences: true, return_state: true, inputs: [x, e/forward_state_h, e/backward_state_c]}, GRU: {name: g, units: 2, return_sequences: true, inputs: [d, d/state_c]}, \
    MultiHeadAttention: {name: a, num_heads: 2, key_dim: 3, inputs: [g, e], return_attention_scores: true}, Flatten: {name: f, inputs: a}, Flatten: {name: s, inputs: a/attention_scores}, \
    Concatenate: {name: c, inputs: [f, s, d/state_h]}, Dense: {name: y, units: 4, activation: softmax, inputs: c}]}'"
# masks that Keras' MultiHeadAttention removes: layers that run after it, by Keras' order, see none
attends() { masked "${2-}MultiHeadAttention: {name: a, num_heads: 2, key_dim: 3, inputs: $1}, Multiply: {name: y, inputs: [e, a]}"; }
"$python" tests/export/keras/jobs.py "$DTRAIN" "$TEST_DIR" 12 "$tiny" tests/jobs/attention.yaml tests/jobs/conv.yaml tests/jobs/functional.yaml \
    tests/jobs/outputs.yaml tests/jobs/sequence.yaml tests/jobs/spatial.yaml \
    "$(pictures 'Conv2D: {filters: 3, kernel_size: 3, padding: same, use_bias: false}, BatchNormalization, ReLU, MaxPooling2D, Dropout: {rate: 0.5}')" \
    "$(pictures 'Conv2D: {filters: 3, kernel_size: [3, 2], strides: 2, kernel_initializer: {HeNormal: {seed: 3}}, kernel_regularizer: {L1L2: {l1: 0.1, l2: 0.2}}, kernel_constraint: max_norm}, PReLU: {shared_axes: [1, 2]}')" \
    "$order" "$translation" \
    "$(attends c 'Rescaling: {name: c, scale: 1}, ')" \
    "$(pictures 'Rescaling: {scale: 0.5}, EinsumDense: {equation: "abcd,de->abce", output_shape: [null, null, 3], bias_axes: ce, bias_initializer: {Constant: {value: 0}}}')" \
    "$(masked 'LSTM: {units: 3, return_sequences: true, dropout: 0.2}, Bidirectional: {layer: {GRU: {units: 3, return_sequences: true}}, merge_mode: ave}')" \
    "$(masked 'MultiHeadAttention: {name: m, num_heads: 2, key_dim: 3, use_causal_mask: true}, Add: {name: sum, inputs: [e, m]}, LayerNormalization')" \
    "$(masked 'Dense: {name: d, units: 4}, Multiply: {inputs: [e, d]}, LSTM: {units: 3, return_sequences: true}')" 2>"$TEST_DIR/err" || cat "$TEST_DIR/err"
eval "exits 0 fit $(attends e) -q --fresh --steps 1"
eval "show export $(attends e) -o '$TEST_DIR/c.keras'" | tail -n 6
# equal models, equal files; layers that Keras lacks, all of them; what only files of weights have
exits 0 fit "$tiny" -q --fresh
exits 0 export "$tiny" -o "$TEST_DIR/a.keras" -q
exits 0 export "$tiny" -o "$TEST_DIR/b" --to keras -q
cmp "$TEST_DIR/a.keras" "$TEST_DIR/b"
exits 0 fit "$tiny" "$tokens" 'model={layers: [Input: {name: tokens, shape: [6], dtype: int32}, TokenAndPositionEmbedding: {vocabulary_size: 9, sequence_length: 6, embedding_dim: 4}, TransformerEncoder: {intermediate_dim: 4, num_heads: 2}, Flatten, Dense: {units: 4, activation: softmax}]}' -q --fresh --steps 1
show export "$tiny" "$tokens" 'model={layers: [Input: {name: tokens, shape: [6], dtype: int32}, TokenAndPositionEmbedding: {vocabulary_size: 9, sequence_length: 6, embedding_dim: 4}, TransformerEncoder: {intermediate_dim: 4, num_heads: 2}, Flatten, Dense: {units: 4, activation: softmax}]}' -o "$TEST_DIR/c.keras"
[ ! -e "$TEST_DIR/c.keras" ] || echo "c.keras was written"
shared="model={type: functional, layers: [Input: {name: tokens, shape: [6], dtype: int32}, Embedding: {input_dim: 9, output_dim: 4}, Dense: {name: a, units: 4}, Dense: {name: b, units: 4, activation: relu, weights_of: a}, Flatten, Dense: {units: 4, activation: softmax}]}"
exits 0 fit "$tiny" "$tokens" "$shared" -q --fresh --steps 1
show export "$tiny" "$tokens" "$shared" -o "$TEST_DIR/c.keras" | tail -n 6
show export "$tiny" -o "$TEST_DIR/c.keras" --names torch
