#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: net strategy train
# Workers in separate processes, started by mpirun: the bits of one process for any number of them; one of them writes and prints; a job stops on 4 and resumes
# on 3 and 1; a worker that dies, stops or has another job is named, and no process is left behind.
. tests/cli/setup.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# MPI's own libraries leak.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
folder=$(dirname "$DTRAIN")
if ! command -v mpirun.openmpi >"$TEST_DIR/which" || [ ! -e "$folder/dtrain-fabric-openmpi.so" ]; then
    echo "Open MPI is not here"
    exit 77
fi
open() { timeout -k 3 100 mpirun.openmpi --oversubscribe --mca btl self,vader --mca oob_tcp_if_include lo -n "$@"; }
mpich() { timeout -k 3 100 mpirun.mpich -iface lo -n "$@"; }
# write NAME ELEMENT LAYERS MORE: 4 steps an epoch, a last batch of one row.
write() {
    cat >"$TEST_DIR/$1.yaml" <<END
version: 1
strategy: {type: multi_worker_mirrored, timeout: 30}
reproducible: {shards: 6}
dataset: {format: synthetic, examples: 61, element: {$2, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 16}
model: {type: sequential, layers: [$3, Dense: {units: 3}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]$5}
fit: {epochs: 2$4}
END
}
image='image: {shape: [6, 6, 1]}' in='Input: {name: image, shape: [6, 6, 1]}'
words='words: {shape: [5], dtype: int32, num_classes: 9}' text='Input: {name: words, shape: [5], dtype: int32}'
write mlp "$image" "$in, Flatten, Dense: {units: 16, activation: relu}"
write dropout "$image" "$in, Flatten, Dense: {units: 16}, Dropout: {rate: 0.4}" ', gradient_accumulation_steps: 2'
write bn "$image" "$in, Conv2D: {filters: 4, kernel_size: 3}, BatchNormalization: {synchronized: true}, Flatten"
write lstm "$words" "$text, Embedding: {input_dim: 9, output_dim: 4}, LSTM: {units: 5}"
write transformer "$words" "$text, TokenAndPositionEmbedding: {vocabulary_size: 9, sequence_length: 5, embedding_dim: 8}, TransformerEncoder: {intermediate_dim: 8, num_heads: 2, dropout: 0.1}, Flatten"
write bfloat16 "$image" "$in, Flatten, Dense: {units: 16}" '' ', precision: mixed_bfloat16'
# hash_of HOW N JOB WORDS...: trains with so many workers, prints the weights' hash; 1: without mpirun.
hash_of() {
    how=$1 n=$2 job=$TEST_DIR/$3.yaml
    shift 3
    [ "$n" -gt 1 ] || how=alone
    if [ "$how" = alone ]; then
        "$DTRAIN" fit "$job" "$@" --threads 1 --json >"$TEST_DIR/json" 2>"$TEST_DIR/err"
    else
        $how "$n" "$DTRAIN" fit "$job" "$@" --threads 1 --json >"$TEST_DIR/json" 2>"$TEST_DIR/err"
    fi || { echo "exit $?" && cat "$TEST_DIR/err"; }
    [ "$(grep -c '"event":"end"' "$TEST_DIR/json")" = 1 ] || echo "not one end"
    weights "$TEST_DIR/json"
}
# same WHAT GOT WANTED
same() { [ "$2" = "$3" ] && [ -n "$2" ] || echo "$1: $2, not $3"; }

echo "== the same bits"
for job in mlp dropout bn lstm transformer bfloat16; do
    one=$(hash_of alone 1 $job "output.dir=$TEST_DIR/run" --fresh)
    for n in 2 3 4; do
        [ $job = mlp ] || [ $n -ne 2 ] || continue
        same "$job, $n workers" "$(hash_of open $n $job "output.dir=$TEST_DIR/run" --fresh)" "$one"
    done
done
one=$(hash_of alone 1 mlp "output.dir=$TEST_DIR/one")
if command -v mpirun.mpich >"$TEST_DIR/which" && [ -e "$folder/dtrain-fabric-mpich.so" ]; then
    same "MPICH" "$(hash_of mpich 3 mlp "output.dir=$TEST_DIR/run" --fresh)" "$one"
fi
wide=$(hash_of alone 1 mlp "output.dir=$TEST_DIR/run" dataset.global_batch_size=5 reproducible.shards=8 --fresh)
same "workers without rows" "$(hash_of open 3 mlp "output.dir=$TEST_DIR/run" dataset.global_batch_size=5 reproducible.shards=8 --fresh)" "$wide"

echo "== resumed"
hash_of open 4 mlp "output.dir=$TEST_DIR/elastic" --steps 3 >"$TEST_DIR/ignored"
hash_of open 3 mlp "output.dir=$TEST_DIR/elastic" --steps 5 >"$TEST_DIR/ignored"
hash_of alone 1 mlp "output.dir=$TEST_DIR/elastic" --steps 6 >"$TEST_DIR/ignored"
same "4, 3, 1 and 2 workers" "$(hash_of open 2 mlp "output.dir=$TEST_DIR/elastic")" "$one"
wc -l <"$TEST_DIR/elastic/history.jsonl"

echo "== callbacks decide for all"
calls='fit.callbacks=[CSVLogger: {filename: log.csv}, EarlyStopping: {monitor: loss, patience: 1, min_delta: 1.0}, TensorBoard]'
hash_of open 3 mlp "output.dir=$TEST_DIR/many" fit.epochs=20 "$calls" >"$TEST_DIR/ignored"
hash_of alone 1 mlp "output.dir=$TEST_DIR/alone" fit.epochs=20 "$calls" >"$TEST_DIR/ignored"
cmp "$TEST_DIR/many/log.csv" "$TEST_DIR/alone/log.csv" && wc -l <"$TEST_DIR/many/log.csv"
find "$TEST_DIR/many" -name 'events*' | wc -l

echo "== without reproducible"
open 2 "$DTRAIN" fit "$TEST_DIR/mlp.yaml" "output.dir=$TEST_DIR/run" --fresh reproducible=null --expect 'loss>=0' >"$TEST_DIR/out" 2>&1 || cat "$TEST_DIR/out"

echo "== refused"
# refuses CODE TEXT WORDS...
refuses() {
    code=$1 text=$2
    shift 2
    "$@" >"$TEST_DIR/out" 2>&1 && status=0 || status=$?
    [ "$status" -eq "$code" ] || echo "exit $status, not $code: $*"
    has "$TEST_DIR/out" "$text"
}
mlp=$TEST_DIR/mlp.yaml to=output.dir=$TEST_DIR/refused
refuses 78 "the job has 3 workers, but OMPI_COMM_WORLD_SIZE says 2" open 2 "$DTRAIN" fit "$mlp" "$to" strategy.workers=3
refuses 78 "reproducible.shards: 2 are fewer than the 3 workers" open 3 "$DTRAIN" fit "$mlp" "$to" reproducible.shards=2
refuses 78 "only fit, evaluate and predict share their work" open 2 "$DTRAIN" lower "$mlp" --stage executable
refuses 78 "treats the rows of each replica by themselves" open 2 "$DTRAIN" fit "$TEST_DIR/bn.yaml" "$to" 'model.layers.2={BatchNormalization: {}}'
refuses 78 "describes 2 workers, but not where they can meet" env WORLD_SIZE=2 RANK=0 "$DTRAIN" fit "$mlp" "$to"
refuses 78 "one of 2 processes; each would do all of the job's work" open 2 "$DTRAIN" fit "$mlp" "$to" strategy.type=default
refuses 76 "the SHA-256 of the job" open 1 "$DTRAIN" fit "$mlp" "$to" : -n 1 "$DTRAIN" fit "$mlp" "$to" seed=4
[ ! -e "$TEST_DIR/refused/ckpt" ] || echo "a refused job has a checkpoint"

echo "== lost"
# lose SIGNAL CODE TEXT: worker 1 of 3 gets the signal in the middle of training.
lose() {
    : >"$TEST_DIR/json" # wait_for would read what the run before has written
    open 3 "$DTRAIN" fit "$mlp" "output.dir=$TEST_DIR/lost" --fresh --threads 1 --json fit.epochs=100000 strategy.timeout=2 >"$TEST_DIR/json" 2>"$TEST_DIR/err" &
    launcher=$!
    wait_for '"epoch":3,' "$TEST_DIR/json"
    for pid in $(pgrep -f "fit $mlp output.dir=$TEST_DIR/lost"); do
        grep -qz '^OMPI_COMM_WORLD_RANK=1$' "/proc/$pid/environ" 2>/dev/null && [ "$(cat "/proc/$pid/comm")" = dtrain ] && kill -"$1" "$pid"
    done
    wait $launcher && status=0 || status=$?
    [ "$status" -eq "$2" ] || echo "$1: exit $status, not $2"
    has "$TEST_DIR/err" "$3"
    sleep 1
    pgrep -f "fit $mlp output.dir=$TEST_DIR/lost" && echo "$1: left behind"
    return 0
}
# mpirun, too, sees that a process died, and may end the others before they can say so.
lose KILL 137 "rank 1 "
lose STOP 69 "rank 1 is late: rank "
