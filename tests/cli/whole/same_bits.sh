#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One hash for 1, 2, 4, 8 and 2,048 mirrored replicas, sim:v2-8 and sim:v3-8, on one thread and on two; another one, but only one, where
# the sums are a tree over eight shards; for each library. The last batch is partial, and the 2,048 are more than a batch has rows.
. tests/cli/setup.sh
. tests/cli/jobs.sh
needs_digits
kernels=openblas
"$DTRAIN" devices | grep -q '^ *onednn  *[0-9]' && kernels='openblas onednn'

# hashes WORDS...: of the same job on every placement.
hashes() {
    for placement in '{type: default}' '{type: mirrored, replicas: 1}' '{type: mirrored, replicas: 2}' '{type: mirrored, replicas: 4}' \
        '{type: mirrored, replicas: 8}' '{type: mirrored, replicas: 2048}' '{type: tpu, cluster_resolver: {tpu: sim:v2-8}}' \
        '{type: tpu, cluster_resolver: {tpu: sim:v3-8}}'; do
        for threads in 1 2; do
            hash configs/quickstart.yaml --fresh dataset.take=1500 dataset.global_batch_size=200 fit.epochs=1 "output.dir=$TEST_DIR/run" \
                "strategy=$placement" --threads $threads "$@"
        done
    done
}

for library in $kernels; do
    hashes --kernels "$library" >"$TEST_DIR/free"
    hashes --kernels "$library" 'reproducible={shards: 8}' >"$TEST_DIR/shards"
    for mode in free shards; do
        [ "$(sort -u "$TEST_DIR/$mode" | grep -cE '^[0-9a-f]{64}$')" -eq 1 ] || { echo "$library, $mode:" && cat "$TEST_DIR/$mode"; }
        [ "$(wc -l <"$TEST_DIR/$mode")" -eq 16 ] || echo "$library, $mode: not 16 runs"
    done
done
