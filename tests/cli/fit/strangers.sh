#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: net
# Hundreds of silent connections, from a process that lacks the run's secret and connects again whenever it is cut off, to a worker that may open
# 256 files: before the workers meet, while they train and save, and to the coordinator of a parameter server. Every run ends, with the bits of one process.
# shellcheck disable=SC2317,SC3045 # functions are called by functions that are given their names; dash and bash have ulimit -n
. tests/cli/setup.sh
for folder in /usr/lib /usr/lib64 /usr/local/lib /usr/lib/*-linux-gnu; do
    [ ! -e "$folder/libzmq.so.5" ] || zeromq=$folder
done
if [ -z "${zeromq:-}" ]; then
    echo "ZeroMQ is not here"
    exit 77
fi
"${CC:-cc}" -O1 -o "$TEST_DIR/strangers" tests/cli/fit/strangers.c || exit
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
strategy: {type: multi_worker_mirrored, timeout: 20, start_timeout: 60}
reproducible: {shards: 8}
dataset: {format: synthetic, examples: 61, element: {image: {shape: [6, 6, 1]}, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 16}
model: {type: sequential, layers: [Input: {name: image, shape: [6, 6, 1]}, Flatten, Dense: {units: 16}, Dense: {units: 3}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
checkpoint: {save_freq: 2}
fit: {epochs: 100}
END
(umask 077 && echo "a secret for this test" >"$TEST_DIR/secret")
next_port && a=$port && next_port && b=$port
fit() { (ulimit -n 256 && exec timeout -k 3 100 "$DTRAIN" fit "$job" "output.dir=$TEST_DIR/${to:-run}" --threads 1 --fresh --json "$@"); }
worker() { rank=$1 && shift && DTRAIN_SECRET_FILE="$TEST_DIR/secret" WORLD_SIZE=2 RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$a fit "$@"; }
listens() {
    for _ in $(seq 600); do
        grep -qi ":$(printf '%04x' "$1") 00000000:0000 0A" /proc/net/tcp && return
        grep -qi ":$(printf '%04x' "$1") 00000000000000000000000000000000:0000 0A" /proc/net/tcp6 && return
        sleep 0.1
    done
    echo "no process listens on $1"
}
to=one && fit >"$TEST_DIR/one.json"
one=$(weights "$TEST_DIR/one.json") to=run

# knock, leave: strangers at port $a; what follows runs when 40 of them are connected at a time.
knock() {
    rm -f "$TEST_DIR/leave" && : >"$TEST_DIR/knocked"
    "$TEST_DIR/strangers" "$a" 400 "$TEST_DIR/leave" 40 >"$TEST_DIR/knocked" &
    strangers=$!
    wait_for "40 at a time" "$TEST_DIR/knocked"
}
leave() { : >"$TEST_DIR/leave" && wait "$strangers"; }
# ends PID NAME: without an error.
ends() {
    wait "$1" && status=0 || status=$?
    [ "$status" -eq 0 ] || { echo "$2: exit $status" && cat "$TEST_DIR/err.$2"; }
}

echo "== before the workers meet, and while they train"
worker 0 >"$TEST_DIR/json" 2>"$TEST_DIR/err.w0" &
first=$!
listens "$a"
knock
worker 1 >"$TEST_DIR/out" 2>"$TEST_DIR/err.w1" &
second=$!
ends "$second" w1
ends "$first" w0
leave
[ "$(weights "$TEST_DIR/json")" = "$one" ] || echo "other bits"

echo "== a parameter server"
member() {
    DTRAIN_SECRET_FILE="$TEST_DIR/secret" TF_CONFIG='{"cluster": {"chief": ["127.0.0.1:'$a'"], "worker": ["127.0.0.1:'$b'"]}, "task": {"type": "'$1'", "index": 0}}' \
        fit reproducible=null "strategy={type: parameter_server, schedule: virtual, start_timeout: 60}" >"$TEST_DIR/out.$1" 2>"$TEST_DIR/err.$1"
}
to="ps"
next_port && a=$port && next_port && b=$port
member chief &
first=$!
listens "$a"
knock
member worker &
second=$!
ends "$second" worker
ends "$first" chief
leave
grep -c '"event":"epoch"' "$TEST_DIR/out.chief"

echo "== a worker that comes too late"
to=run
next_port && a=$port
worker 0 fit.epochs=1000000 >"$TEST_DIR/json" 2>"$TEST_DIR/err.w0" &
first=$!
worker 1 fit.epochs=1000000 >"$TEST_DIR/out" 2>"$TEST_DIR/err.w1" &
second=$!
wait_for '"event":"epoch"' "$TEST_DIR/json"
worker 1 strategy.start_timeout=6 >"$TEST_DIR/out.late" 2>"$TEST_DIR/err.late" || echo "exit $?"
has "$TEST_DIR/err.late" "waiting for worker 0 at 127.0.0.1:$a, which does not answer: it has not started, or its workers are all there and it takes no more"
for pid in $(pgrep -f "fit $job output.dir=$TEST_DIR/run"); do kill "$pid" 2>"$TEST_DIR/ignored"; done
wait
