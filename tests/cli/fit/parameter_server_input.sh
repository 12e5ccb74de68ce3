#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: net strategy
# Workers of a parameter server read what the coordinator has read, use several threads, and leave it to the coordinator to report why the run has
# ended.
. tests/cli/setup.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END2
version: 1
strategy: {type: parameter_server, workers: 4, max_staleness: 4, timeout: 30}
dataset: {format: synthetic, examples: 200, element: {image: {shape: [6, 6, 1]}, label: {num_classes: 3}}, global_batch_size: 16}
model: {type: sequential, layers: [Input: {name: image, shape: [6, 6, 1]}, Flatten, Dense: {units: 16}, Dense: {units: 3}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: $TEST_DIR/run}
END2

echo "== the job is standard input by another name"
ln -s /dev/stdin "$TEST_DIR/link.yaml"
for name in /dev/stdin /dev/fd/0 /proc/self/fd/0 "$TEST_DIR/link.yaml"; do
    show fit "$name" --fresh -q <"$job"
done

echo "== its base and its data are standard input"
mv "$job" "$TEST_DIR/base.yaml"
echo 'extends: /dev/stdin' >"$job"
show fit "$job" --fresh -q <"$TEST_DIR/base.yaml"
mv "$TEST_DIR/base.yaml" "$job"
i=0
echo "a,b,c,d,label" >"$TEST_DIR/rows.csv"
while [ $i -lt 64 ]; do
    echo "$i,1,2,3,$((i % 3))"
    i=$((i + 1))
done >>"$TEST_DIR/rows.csv"
show fit "$job" --fresh -q <"$TEST_DIR/rows.csv" 'dataset={format: csv, train: /dev/stdin, element: {x: {columns: [a, b, c, d]}, label: {column: label, dtype: int32}}, global_batch_size: 16}' 'model={type: sequential, layers: [Input: {name: x, shape: [4]}, Dense: {units: 3}]}'

echo "== one error: the coordinator's"
for _ in 1 2 3; do
    "$DTRAIN" fit "$job" --fresh -q 'model={type: sequential, layers: [Input: {name: image, shape: [6, 6, 1]}, Flatten, Embedding: {input_dim: 2, output_dim: 2}, Flatten, Dense: {units: 3}]}' 'dataset.map={image: [rescale: {scale: 9}, cast: int32]}' 2>"$TEST_DIR/err"
    echo "exit $?, $(grep -c error "$TEST_DIR/err") error"
done

echo "== threads: the same bits"
for n in 0 1 3; do
    more=
    [ $n = 0 ] || more=--threads=$n
    "$DTRAIN" fit "$job" --fresh --json fit.epochs=2 strategy.schedule=virtual ${more:+"$more"} >"$TEST_DIR/json.$n" 2>&1 || echo "exit $?"
    [ "$(weights "$TEST_DIR/json.$n")" = "$(weights "$TEST_DIR/json.0")" ] || echo "$n threads: other bits"
done
# threads of worker 0 while it trains
threads_of_worker() {
    rm -f "$TEST_DIR/json"
    : >"$TEST_DIR/json"
    "$DTRAIN" fit "$job" --fresh --json fit.epochs=100000 "$@" >"$TEST_DIR/json" 2>&1 &
    run=$!
    wait_for '"event":"epoch","epoch":3,' "$TEST_DIR/json"
    for pid in $(pgrep -P $run); do
        [ "$(cat "/proc/$pid/comm")" = dtrain-0 ] && sed -n 's/^Threads:[^0-9]*//p' "/proc/$pid/status"
    done
    kill -TERM $run
    ended $run
}
one=$(threads_of_worker --threads=1)
three=$(threads_of_worker --threads=3)
default=$(threads_of_worker strategy.workers=1)
echo "$((three - one)) more with --threads 3"
[ $((default - one)) = $(($(nproc) - 1)) ] || echo "default: $default threads, --threads 1: $one"
