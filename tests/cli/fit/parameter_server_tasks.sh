#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: net strategy train
# Tasks of type ps have the variables: the bits of a run without them; a task that dies ends the run with an error, and it resumes.
# shellcheck disable=SC2089,SC2090 # JSON has quotes
. tests/cli/setup.sh
for folder in /usr/lib /usr/lib64 /usr/local/lib /usr/lib/*-linux-gnu; do
    [ ! -e "$folder/libzmq.so.5" ] || zeromq=$folder
done
if [ -z "${zeromq:-}" ]; then
    echo "ZeroMQ is not here"
    exit 77
fi
job=$TEST_DIR/job.yaml
cat >"$job" <<END2
version: 1
strategy: {type: parameter_server, timeout: 5, start_timeout: 60, max_staleness: 4}
dataset: {format: synthetic, examples: 330, element: {image: {shape: [6, 6, 1]}, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 16}
model: {type: sequential, layers: [Input: {name: image, shape: [6, 6, 1]}, Flatten, Dense: {units: 16}, BatchNormalization: {synchronized: true}, Dropout: {rate: 0.2}, Dense: {units: 3}]}
compile: {optimizer: {SGD: {learning_rate: 0.1}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 3}
END2
# The next port that no socket of this machine has.
port=$((20000 + $$ % 30000))
next_port() {
    port=$((port + 1))
    while grep -qi ":$(printf '%04x' $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
}
# cluster WORKERS PS: addresses of a chief, so many workers, and so many tasks of type ps.
addresses() {
    list=
    for _ in $(seq "$1"); do next_port && list="$list${list:+, }\"127.0.0.1:$port\""; done
}
cluster() {
    workers=$1 servers=$2
    next_port && own="\"127.0.0.1:$port\""
    addresses "$1" && w=$list
    addresses "$2"
    text="{\"cluster\": {\"chief\": [$own], \"worker\": [$w], \"ps\": [$list]}"
}
# member TYPE INDEX WORDS...: one process of the cluster; writes out.NAME and err.NAME.
member() {
    name=$1$2
    TF_CONFIG="$text, \"task\": {\"type\": \"$1\", \"index\": $2}}" && export TF_CONFIG && shift 2
    exec "$DTRAIN" fit "$job" "output.dir=$TEST_DIR/${to:-run}" --json "$@" >"$TEST_DIR/out.$name" 2>"$TEST_DIR/err.$name"
}
start() { (member "$@") & last=$!; }
# start_all WORDS...: the coordinator is $chief, all others are $others.
start_all() {
    : >"$TEST_DIR/out.chief0" # wait_for would read what the one before has written
    others=
    for i in $(seq 0 $((servers - 1))); do start ps "$i" "$@" && others="$others $last"; done
    for i in $(seq 0 $((workers - 1))); do start worker "$i" "$@" && others="$others $last"; done
    start chief 0 "$@" && chief=$last
}
codes() {
    list=
    for pid in "$@"; do
        status=0
        ended "$pid" || status=$?
        list="$list $status"
    done
    echo "exit$list"
}
# shellcheck disable=SC2086 # words
codes_of_all() { codes $chief $others; }
updates() { sed -n 's/.*"event":"workers".*"staleness":\[\([0-9,]*\)\].*/\1/p' "$1" | tail -1 | awk -F, '{ for (i = 1; i <= NF; i++) n += $i; print n " updates" }'; }
# same NAME WORDS...: the bits of workers that this machine's coordinator starts, without tasks of type ps.
same() {
    name=$1 && shift
    start_all --fresh strategy.schedule=virtual "$@"
    codes_of_all
    to=alone && "$DTRAIN" fit "$job" "output.dir=$TEST_DIR/alone" --fresh --json strategy.schedule=virtual "strategy.workers=2" "$@" >"$TEST_DIR/alone.json"
    to=run
    [ -n "$(weights "$TEST_DIR/alone.json")" ] || echo "$name: no weights"
    [ "$(weights "$TEST_DIR/out.chief0")" = "$(weights "$TEST_DIR/alone.json")" ] || { echo "$name: other bits" && cat "$TEST_DIR"/err.*; }
}

echo "== the same bits"
cluster 1 1 && same "one worker, one task"
(umask 077 && echo "a secret for this test" >"$TEST_DIR/secret") && export DTRAIN_SECRET_FILE="$TEST_DIR/secret"
cluster 2 2 && same "two workers, two tasks, a secret"
unset DTRAIN_SECRET_FILE
cluster 2 3 && same "Adam" compile.optimizer=Adam
cluster 2 2 && same "accumulation" compile.optimizer=Adam fit.gradient_accumulation_steps=3
cluster 2 2 && same "a moving average" 'compile.optimizer={Adam: {use_ema: true, clipnorm: 0.1}}' fit.validation_steps=2
cluster 2 2 && same "a global norm" 'compile.optimizer={SGD: {learning_rate: 0.1, momentum: 0.9, global_clipnorm: 0.1}}'
sed 's/^dataset.*/dataset: {format: synthetic, examples: 330, global_batch_size: 16, element: {ids: {shape: [4], dtype: int32, num_classes: 3000}, label: {num_classes: 3}}}/; s/^model.*/model: {layers: [Input: {name: ids, shape: [4], dtype: int32}, Embedding: {input_dim: 3000, output_dim: 32}, Flatten, Dense: {units: 3}]}/' "$job" >"$TEST_DIR/table.yaml"
dense=$job job=$TEST_DIR/table.yaml
cluster 2 2 && same "rows of a table" compile.optimizer=Adagrad
cluster 2 3 && same "shards of a table" compile.optimizer=Adam 'strategy.variable_partitioner={FixedShards: {num_shards: 7}}'
cluster 2 2 && same "a table that stays whole" 'compile.optimizer={SGD: {learning_rate: 0.1, clipnorm: 0.1}}' 'strategy.variable_partitioner={FixedShards: {num_shards: 2}}'
job=$dense
cluster 2 3 && same "shards" 'compile.optimizer={RMSprop: {momentum: 0.5, use_ema: true}}' 'strategy.variable_partitioner={FixedShards: {num_shards: 3}}' fit.validation_steps=2
cluster 2 2 && same "shards by size" 'compile.optimizer={SGD: {momentum: 0.9}}' 'strategy.variable_partitioner={MaxSize: {max_shard_bytes: 512}}' fit.gradient_accumulation_steps=3

echo "== asynchronous"
cluster 2 2 && start_all --fresh fit.epochs=20
codes_of_all
updates "$TEST_DIR/out.chief0"
grep -o '"event":"epoch","epoch":20,"step":340' "$TEST_DIR/out.chief0"

echo "== a worker is killed"
start_all --fresh fit.epochs=300
wait_for '"event":"epoch","epoch":20,' "$TEST_DIR/out.chief0"
kill -KILL "${others##* }"
start worker 1 --fresh fit.epochs=300 # it comes again
# shellcheck disable=SC2086 # words
codes $chief ${others% *} $last
updates "$TEST_DIR/out.chief0"
has "$TEST_DIR/err.chief0" "worker 2 was lost"

echo "== a task of type ps is stopped"
start_all --fresh fit.epochs=1000000 strategy.timeout=2
wait_for '"event":"epoch","epoch":20,' "$TEST_DIR/out.chief0"
# shellcheck disable=SC2086 # words
set -- $others
kill -STOP "$2"
# shellcheck disable=SC2086 # words
codes "$chief" "$1" "$3" "$4"
kill -KILL "$2"
ended "$2" || : # its port is free again
# who notices the silence first names what is silent
grep -qE 'parameter server 1, which has the weights, is gone|no worker has answered for 2 s' "$TEST_DIR/err.chief0" || cat "$TEST_DIR/err.chief0"

echo "== a task of type ps is killed"
start_all --fresh fit.epochs=1000000 checkpoint.save_freq=epoch
wait_for '"event":"epoch","epoch":20,' "$TEST_DIR/out.chief0"
# shellcheck disable=SC2086 # words
set -- $others
kill -KILL "$1"
shift
codes "$chief" "$@"
has "$TEST_DIR/err.chief0" "parameter server 0, which has the weights, is gone"
has "$TEST_DIR/err.chief0" "run the job again to resume from its newest checkpoint"
step=$(sed -n 's/.*"event":"checkpoint","step":\([0-9]*\).*/\1/p' "$TEST_DIR/out.chief0" | tail -1)
start_all --resume must --steps $((step + 100)) fit.epochs=1000000
codes_of_all
grep -q "\"resumed_step\":$step" "$TEST_DIR/out.chief0" || echo "it did not resume from step $step"

echo "== the coordinator is killed"
start_all --fresh fit.epochs=1000000
wait_for '"event":"epoch","epoch":20,' "$TEST_DIR/out.chief0"
kill -KILL "$chief"
# shellcheck disable=SC2086 # words
codes $others
has "$TEST_DIR/err.ps0" "the coordinator is gone"

echo "== a signal"
start_all --fresh fit.epochs=1000000
wait_for '"event":"epoch","epoch":20,' "$TEST_DIR/out.chief0"
kill -TERM "$chief"
codes_of_all

echo "== what does not fit"
cluster 1 1
start ps 0 seed=4 --fresh && ps=$last
start worker 0 --fresh && worker=$last
start chief 0 --fresh && chief=$last
codes "$chief" "$worker"
has "$TEST_DIR/err.chief0" "the coordinator has dtrain "
kill -KILL "$ps"
start worker 0 strategy.start_timeout=3 --fresh && worker=$last
start chief 0 strategy.start_timeout=3 --fresh && chief=$last
codes "$chief" "$worker"
has "$TEST_DIR/err.chief0" "this process has waited 3 s for parameter server 0 at 127.0.0.1:"
wait
exit 0
