#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One hash for 1, 2, 4, 8 and 2,048 mirrored replicas, sim:v2-8 and sim:v3-8, on one thread and on two; another one, the same for all, where
# the sums are a tree over eight shards; for each library. The last batch is partial, and the 2,048 are more than a batch has rows.
. tests/cli/setup.sh
. tests/cli/jobs.sh
needs_digits
kernels='own openblas'
"$DTRAIN" devices | grep -q '^ *onednn  *[0-9]' && kernels="$kernels onednn"

# A sanitizer finds in one run on two threads what it finds in all: bits are those of the plain build.
threads='1 2' runs=16
if sanitized; then threads=2 runs=8; fi

# hashes WORDS...: of the same job on every placement.
hashes() {
    for placement in '{type: default}' '{type: mirrored, replicas: 1}' '{type: mirrored, replicas: 2}' '{type: mirrored, replicas: 4}' \
        '{type: mirrored, replicas: 8}' '{type: mirrored, replicas: 2048}' '{type: tpu, cluster_resolver: {tpu: sim:v2-8}}' \
        '{type: tpu, cluster_resolver: {tpu: sim:v3-8}}'; do
        for n in $threads; do
            hash configs/quickstart.yaml --fresh dataset.take=1500 dataset.global_batch_size=200 fit.epochs=1 "output.dir=$TEST_DIR/run" \
                "strategy=$placement" --threads "$n" "$@"
        done
    done
}

for library in $kernels; do
    hashes --kernels "$library" >"$TEST_DIR/free"
    hashes --kernels "$library" 'reproducible={shards: 8}' >"$TEST_DIR/shards"
    for mode in free shards; do
        [ "$(sort -u "$TEST_DIR/$mode" | grep -cE '^[0-9a-f]{64}$')" -eq 1 ] || { echo "$library, $mode:" && cat "$TEST_DIR/$mode"; }
        [ "$(wc -l <"$TEST_DIR/$mode")" -eq $runs ] || echo "$library, $mode: not $runs runs"
    done
done

# The default: one hash for each model on every instruction set with FMA, on any number of threads and replicas, with no library of products to be had,
# and after a run that went on from a checkpoint. `strict: true` keeps it on processors without FMA, by names of ours and of the C library.
# With `shards` also on any number of workers.
network() { # NAME EXAMPLES ELEMENTS OPTIMIZER LAYERS
    printf 'version: 1\ndataset: {format: synthetic, examples: 90, element: {%s, y: {num_classes: 10}}, shuffle: true, global_batch_size: 32}\nmodel: {layers: [%s, Dense: {units: 10}]}\ncompile: {optimizer: %s, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}\nfit: {epochs: 2}\noutput: {dir: %s}\n' \
        "$2" "$4" "$3" "$TEST_DIR/run" >"$TEST_DIR/$1.yaml"
}
network mlp 'x: {shape: [50]}' Adam 'Input: {name: x, shape: [50]}, Dense: {units: 70, activation: gelu}, Dense: {units: 33, activation: elu}, Dropout: {rate: 0.2}'
network cnn 'x: {shape: [12, 12, 3]}' '{SGD: {momentum: 0.9, learning_rate: {CosineDecay: {initial_learning_rate: 0.1, decay_steps: 20}}}}' \
    'Input: {name: x, shape: [12, 12, 3]}, Conv2D: {filters: 8, kernel_size: 3, padding: same, activation: relu}, BatchNormalization: {synchronized: true}, DepthwiseConv2D: {kernel_size: 3}, MaxPooling2D, Conv2D: {filters: 16, kernel_size: 3, strides: 2, activation: silu}, Conv2DTranspose: {filters: 8, kernel_size: 2, strides: 2}, GlobalAveragePooling2D'
network lstm 'x: {shape: [9, 7]}' RMSprop 'Input: {name: x, shape: [9, 7]}, Bidirectional: {layer: {LSTM: {units: 11, return_sequences: true}}}, GRU: {units: 13}, Dense: {units: 12, activation: softplus}'
network gpt 'x: {shape: [24], dtype: int32, num_classes: 50}' AdamW \
    'Input: {name: x, shape: [24], dtype: int32}, TokenAndPositionEmbedding: {vocabulary_size: 50, sequence_length: 24, embedding_dim: 32}, TransformerDecoder: {intermediate_dim: 64, num_heads: 4, activation: gelu, normalize_first: true, dropout: 0.1}, LayerNormalization, GlobalAveragePooling1D'

strict='reproducible={strict: true}'
mkdir "$TEST_DIR/hidden"
for library in libopenblas.so.0 libopenblas.so libdnnl.so.3 libdnnl.so.2; do : >"$TEST_DIR/hidden/$library"; done
hidden() { LD_LIBRARY_PATH=$TEST_DIR/hidden${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }
same() { # WHAT RUNS FILE
    [ "$(sort -u "$3" | grep -cE '^[0-9a-f]{64}$')" -eq 1 ] || { echo "$1:" && cat "$3"; }
    [ "$(wc -l <"$3")" -ge "$2" ] || echo "$1: too few runs"
}

for model in mlp cnn lstm gpt; do
    job=$TEST_DIR/$model.yaml
    for set in avx2 avx512; do
        DTRAIN_INSTRUCTIONS=$set "$DTRAIN" devices >"$TEST_DIR/devices" 2>&1 || continue
        DTRAIN_INSTRUCTIONS=$set hash "$job" --fresh >>"$TEST_DIR/bits"
        DTRAIN_INSTRUCTIONS=$set hash "$job" --fresh --workers 2 'reproducible={shards: 6}' strategy.type=multi_worker_mirrored >>"$TEST_DIR/sharded"
    done
    DTRAIN_INSTRUCTIONS=base hash "$job" --fresh "$strict" >>"$TEST_DIR/bits"
    GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F hash "$job" --fresh "$strict" >>"$TEST_DIR/bits"
    for words in '--threads 1' '--threads 2' '--threads 4' '--kernels own' 'strategy={type: mirrored, replicas: 2}' 'strategy={type: mirrored, replicas: 3}'; do
        case $words in --*) option=${words%% *} words=${words#* } ;; *) option= ;; esac
        hash "$job" --fresh ${option:+"$option"} "$words" >>"$TEST_DIR/bits"
    done
    hidden hash "$job" --fresh >>"$TEST_DIR/bits"
    "$DTRAIN" fit "$job" --fresh --quiet --steps 4 || echo "$model: exit $?"
    hash "$job" >>"$TEST_DIR/bits"
    same "$model" 10 "$TEST_DIR/bits"
    for workers in 1 3; do
        hash "$job" --fresh --workers "$workers" 'reproducible={shards: 6}' strategy.type=multi_worker_mirrored >>"$TEST_DIR/sharded"
    done
    same "$model, shards" 2 "$TEST_DIR/sharded"
    rm "$TEST_DIR/bits" "$TEST_DIR/sharded"
done
LD_DEBUG=files "$DTRAIN" fit "$TEST_DIR/cnn.yaml" --fresh --quiet 2>&1 | grep -E 'libopenblas|libdnnl'
hidden exits 69 fit "$TEST_DIR/mlp.yaml" --fresh --kernels openblas
exits 64 fit "$TEST_DIR/mlp.yaml" --fresh "$strict" --kernels openblas
# Without FMA, with `strict: false` and with mixed_bfloat16 and AMX libraries compute, unless the job says `strict: true`.
computes() { # WANT WORDS...
    want=$1
    shift
    "$DTRAIN" fit "$TEST_DIR/mlp.yaml" --fresh --quiet "$@" || echo "$*: exit $?"
    sed -n 's/.*"kernels": *"\([a-z]*\).*/\1/p' "$TEST_DIR"/run/ckpt/*/state.json | sort -u | grep -qx "$want" || echo "$*: not $want"
}
computes own
computes own --kernels own 'reproducible={strict: false}'
computes openblas --kernels openblas
computes own "$strict" compile.precision=mixed_bfloat16
computes own compile.precision=mixed_float16
if grep -q avx2 /proc/cpuinfo; then DTRAIN_INSTRUCTIONS=avx2 computes own compile.precision=mixed_bfloat16; fi
DTRAIN_INSTRUCTIONS=base computes own "$strict"
case $kernels in
*onednn)
    computes onednn 'reproducible={strict: false}'
    if grep -q amx_bf16 /proc/cpuinfo; then computes onednn compile.precision=mixed_bfloat16; fi
    DTRAIN_INSTRUCTIONS=base computes onednn
    ;;
*) DTRAIN_INSTRUCTIONS=base computes openblas ;;
esac
