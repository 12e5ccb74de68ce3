#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: strategy net train
# evaluate and predict on workers in separate processes: the bytes of one process, for any number of workers, from all sources, in all formats; one of them prints.
. tests/cli/setup.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# MPI's own libraries leak.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
strategy: {type: multi_worker_mirrored, timeout: 30}
reproducible: {shards: 4}
dataset: {format: synthetic, examples: 5100, element: {x: {shape: [6]}, label: {num_classes: 3}}, validation_split: 0.5, global_batch_size: 100}
model: {type: sequential, layers: [Input: {name: x, shape: [6]}, Dense: {units: 8, activation: relu}, Dense: {name: a, units: 3}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 1}
output: {dir: $TEST_DIR/run}
END
"$DTRAIN" fit "$job" --quiet --threads 1

echo "== evaluate"
"$DTRAIN" evaluate "$job" --json --threads 1 >"$TEST_DIR/one"
"$DTRAIN" evaluate "$job" --json --threads 1 --steps 7 --split train >"$TEST_DIR/steps"
for n in 2 3 4; do
    "$DTRAIN" evaluate "$job" --json --threads 1 --workers $n | cmp - "$TEST_DIR/one"
    "$DTRAIN" evaluate "$job" --json --threads 1 --workers $n --steps 7 --split train | cmp - "$TEST_DIR/steps"
done
exits 80 evaluate "$job" --workers 2 --expect 'accuracy>=1.1'

echo "== predict"
for form in csv npy npz jsonl; do
    "$DTRAIN" predict "$job" -o "$TEST_DIR/one.$form" --threads 1 --quiet
    for n in 2 3; do
        "$DTRAIN" predict "$job" -o "$TEST_DIR/some.$form" --threads 1 --quiet --workers $n
        cmp "$TEST_DIR/some.$form" "$TEST_DIR/one.$form"
    done
done
"$DTRAIN" predict "$job" --workers 2 -o "$TEST_DIR/some.npy" | hide

echo "== a file"
awk 'BEGIN { for (i = 0; i < 730; i++) print i % 7, i % 11, i % 13, i % 3, i % 5, -i % 17 }' | tr ' ' , >"$TEST_DIR/x.csv"
"$DTRAIN" predict "$job" --input "$TEST_DIR/x.csv" --top 2 --threads 1 >"$TEST_DIR/one"
for n in 2 3 9; do
    "$DTRAIN" predict "$job" --input "$TEST_DIR/x.csv" --top 2 --threads 1 --workers $n | cmp - "$TEST_DIR/one"
done
head -n 3 "$TEST_DIR/x.csv" | "$DTRAIN" predict "$job" --input - --workers 2 >"$TEST_DIR/out" 2>&1 || echo "exit $?"
has "$TEST_DIR/out" "standard input can be read by one process only"

echo "== mpirun"
if command -v mpirun.openmpi >"$TEST_DIR/which" && [ -e "$(dirname "$DTRAIN")/dtrain-fabric-openmpi.so" ]; then
    open() { timeout -k 3 100 mpirun.openmpi --oversubscribe --mca btl self,vader --mca oob_tcp_if_include lo -n "$@"; }
    open 3 "$DTRAIN" evaluate "$job" --json --threads 1 >"$TEST_DIR/some"
    "$DTRAIN" evaluate "$job" --json --threads 1 | cmp - "$TEST_DIR/some"
    open 2 "$DTRAIN" predict "$job" --input "$TEST_DIR/x.csv" --top 2 --threads 1 | cmp - "$TEST_DIR/one"
fi

echo "== refused"
exits 66 evaluate "$job" --workers 2 output.dir="$TEST_DIR/none"
exits 78 evaluate "$job" --workers 2 strategy.type=default
exits 64 predict - --workers 2
