#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: net strategy train
# A parameter server and a large table: rows travel in place of it, with the bits of a table that is sent whole, and nothing is lost with a worker.
. tests/cli/setup.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
strategy: {type: parameter_server, workers: 2, max_staleness: 4}
dataset: {format: synthetic, examples: 1010, global_batch_size: 50, element: {ids: {shape: [4], dtype: int32, num_classes: 20000}, label: {num_classes: 2}}}
model: {layers: [Input: {name: ids, shape: [4], dtype: int32}, Embedding: {input_dim: 20000, output_dim: 32}, Flatten, Dense: {units: 2}]}
compile: {loss: {SparseCategoricalCrossentropy: {from_logits: true}}, optimizer: {SGD: {learning_rate: 0.05}}}
fit: {epochs: 2}
END
fit() { timeout -k 3 100 "$DTRAIN" fit "$job" --json --fresh "output.dir=$TEST_DIR/run" "$@"; }
# same WORDS...: one process; workers that take turns; workers with stale weights, one and three of them.
same() {
    fit 'strategy={type: default}' "$@" >"$TEST_DIR/json.1" || echo "exit $?"
    fit strategy.schedule=virtual strategy.max_staleness=0 "$@" >"$TEST_DIR/json.2" || echo "exit $?"
    fit strategy.schedule=virtual strategy.max_staleness=3 strategy.workers=1 "$@" >"$TEST_DIR/json.3" || echo "exit $?"
    fit strategy.schedule=virtual strategy.max_staleness=3 strategy.workers=3 strategy.parameter_servers=2 "$@" >"$TEST_DIR/json.4" || echo "exit $?"
    [ -n "$(weights "$TEST_DIR/json.1")" ] || echo "$1: no weights"
    case $* in *accumulation*) ;; *) [ "$(weights "$TEST_DIR/json.1")" = "$(weights "$TEST_DIR/json.2")" ] || echo "$1: other bits than in one process" ;; esac
    [ "$(weights "$TEST_DIR/json.3")" = "$(weights "$TEST_DIR/json.4")" ] || echo "$1: other bits with three workers"
    [ "$(weights "$TEST_DIR/json.1")" != "$(weights "$TEST_DIR/json.3")" ] || echo "$1: staleness changes nothing"
}

echo "== the same bits"
same seed=1
same compile.optimizer=Adam
same "compile.optimizer={Adam: {global_clipnorm: 0.01}}"
same compile.precision=mixed_bfloat16
# model KEYS ROWS: the same with keys of the table.
model() { echo "model={layers: [Input: {name: ids, shape: [4], dtype: int32}, Embedding: {input_dim: ${2:-20000}, output_dim: 32, ${1:-trainable: true}}, Flatten, Dense: {units: 2}]}"; }
same "$(model mask_zero:\ true)"
same "$(model trainable:\ false)"
same "$(model "embeddings_regularizer: {L2: {l2: 0.01}}")" # which needs the whole table

echo "== few bytes are sent"
cat >"$TEST_DIR/count.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

/* Bytes that go through sockets of this process, in both directions. */
static _Atomic long long bytes;

ssize_t send(int fd, const void *data, size_t n, int flags)
{
    ssize_t (*real)(int, const void *, size_t, int);
    *(void **)&real = dlsym(RTLD_NEXT, "send");
    ssize_t done = real(fd, data, n, flags);
    if (done > 0) atomic_fetch_add(&bytes, done);
    return done;
}

ssize_t recv(int fd, void *data, size_t n, int flags)
{
    ssize_t (*real)(int, void *, size_t, int);
    *(void **)&real = dlsym(RTLD_NEXT, "recv");
    ssize_t done = real(fd, data, n, flags);
    if (done > 0) atomic_fetch_add(&bytes, done);
    return done;
}

__attribute__((destructor)) static void print(void)
{
    fprintf(stderr, "%lld bytes\n", (long long)bytes);
}
END
count=$(preload count -ldl) || exit
# The largest count is the coordinator's. Each batch has 200 rows of 128 bytes, pulled and pushed, in 42 batches: 2.2 MB of rows. The table has 2.56 MB, and would be sent 84 times.
LD_PRELOAD=$count fit 2>&1 >"$TEST_DIR/json" | sort -n | tail -1 | awk '/ bytes$/ { n++; print ($1 > 2000000 && $1 < 4000000) ? "rows" : $0 }'

# A frozen layer of 518 KB goes to each worker once.
frozen="model={layers: [Input: {name: ids, shape: [4], dtype: int32}, Embedding: {input_dim: 20000, output_dim: 32}, Flatten, Dense: {units: 1000, trainable: false}, Dense: {units: 2}]}"
LD_PRELOAD=$count fit "$frozen" 2>&1 >"$TEST_DIR/json" | sort -n | tail -1 | awk '/ bytes$/ { n++; print ($1 > 3000000 && $1 < 5500000) ? "rows, and the layer twice" : $0 }'
same "$frozen"
same "$frozen" fit.gradient_accumulation_steps=3

echo "== a row that is not there"
show fit "$job" -q "output.dir=$TEST_DIR/bad" strategy.workers=1 "$(model "" 15000)" | sed 's/row number [0-9]* at .* is not/row number N is not/'

echo "== workers and a coordinator are killed"
below() { for child in $(pgrep -P "$1"); do echo "$child $(cat "/proc/$child/comm" 2>/dev/null)"; below "$child"; done; }
worker() { below "$run" | sed -n "s/ dtrain-$1\$//p" | tail -1; }
updates() { sed -n 's/.*"event":"workers".*"staleness":\[\([0-9,]*\)\].*/\1/p' "$1" | tail -1 | awk -F, '{ for (i = 1; i <= NF; i++) n += $i; print n " updates" (NF > 5 ? ", too stale" : "") }'; }
begin() {
    : >"$TEST_DIR/json"
    "$DTRAIN" fit "$job" --json --fresh "output.dir=$TEST_DIR/lost" "$@" >"$TEST_DIR/json" 2>"$TEST_DIR/err" &
    run=$!
    wait_for '"event":"epoch","epoch":1,' "$TEST_DIR/json"
}
begin fit.epochs=30 strategy.workers=3 strategy.elastic=true
for _ in 1 2 3 4; do
    for n in 0 1 2; do
        victim=$(worker $n)
        [ -z "$victim" ] || kill -KILL "$victim" 2>/dev/null
        sleep 0.05
    done
done
ended $run
echo "exit $?"
updates "$TEST_DIR/json"
[ "$(grep -c ' was lost; ' "$TEST_DIR/err")" -ge 3 ] || cat "$TEST_DIR/err"
begin fit.epochs=100000
kill -KILL $run
wait $run
echo "exit $?"
"$DTRAIN" fit "$job" --json "output.dir=$TEST_DIR/lost" fit.epochs=100000 --resume must --steps 200 >"$TEST_DIR/json" || echo "exit $?"

