#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: net strategy train
# strategy: parameter_server. A lost worker costs nothing: every batch is applied once. The virtual schedule gives the same bits for any number of
# workers; signals save what can be resumed; without the coordinator no process is left.
. tests/cli/setup.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
strategy: {type: parameter_server, workers: 3, max_staleness: 4, timeout: 30}
dataset: {format: synthetic, examples: 1250, element: {image: {shape: [6, 6, 1]}, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 16}
model: {type: sequential, layers: [Input: {name: image, shape: [6, 6, 1]}, Flatten, Dense: {units: 16}, BatchNormalization: {synchronized: true}, Dropout: {rate: 0.2}, Dense: {units: 3}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 3}
END
fit() { timeout -k 3 100 "$DTRAIN" fit "$job" --json "$@"; }

# Processes below PID, with name and state, zombies not.
below() {
    for child in $(pgrep -P "$1"); do
        case $(sed 's/.*) //; s/ .*//' "/proc/$child/stat" 2>/dev/null) in '' | Z) continue ;; esac
        echo "$child $(cat "/proc/$child/comm")"
        below "$child"
    done
}
worker() { below "$run" | sed -n "s/ dtrain-$1\$//p" | tail -1; }
begin() {
    rm -f "$TEST_DIR/json"
    : >"$TEST_DIR/json" # wait_for would read what the run before has written
    "$DTRAIN" fit "$job" --json --fresh "$@" >"$TEST_DIR/json" 2>"$TEST_DIR/err" &
    run=$!
    wait_for '"event":"epoch","epoch":1,' "$TEST_DIR/json"
}
# lose SIGNAL WORKER...: the coordinator stands still meanwhile, so that it cannot end first.
lose() {
    signal=$1
    shift
    kill -STOP $run
    for n in "$@"; do kill "-$signal" "$(worker "$n")"; done
    kill -CONT $run
}
# updates FILE: how many updates the last count of staleness has, and whether any was staler than allowed.
updates() {
    sed -n 's/.*"event":"workers".*"staleness":\[\([0-9,]*\)\].*/\1/p' "$1" | tail -1 | awk -F, '{ for (i = 1; i <= NF; i++) n += $i; print n " updates" (NF > 5 ? ", too stale" : "") }'
}
all_gone() {
    for _ in $(seq 50); do
        alive=
        for pid in "$@"; do
            case $(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2>/dev/null) in '' | Z) ;; *) alive="$alive $pid" ;; esac
        done
        [ -z "$alive" ] && return
        sleep 0.1
    done
    echo "left behind after 5 s:$alive"
}

echo "== workers are programs: nothing is forked"
cat >"$TEST_DIR/alone.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* What a thread of this process has locked would be locked in its children for ever. */
pid_t fork(void)
{
    pid_t (*real)(void);
    *(void **)&real = dlsym(RTLD_NEXT, "fork");
    fprintf(stderr, "%s forks\n", program_invocation_short_name);
    return real();
}

/* A number that was freed may be another process by now. */
int kill(pid_t pid, int signal)
{
    int (*real)(pid_t, int);
    *(void **)&real = dlsym(RTLD_NEXT, "kill");
    if (real(pid, 0) != 0) fprintf(stderr, "%s kills a process that is gone\n", program_invocation_short_name);
    return real(pid, signal);
}
END
alone=$(preload alone -ldl) || exit
LD_PRELOAD=$alone fit "output.dir=$TEST_DIR/forks" --fresh fit.epochs=1 2>&1 >"$TEST_DIR/json" | sort -u # by timeout alone
env --ignore-signal=CHLD "LD_PRELOAD=$alone" "$DTRAIN" fit "$job" "output.dir=$TEST_DIR/forks" --fresh -q fit.epochs=1 2>&1 || echo "exit $?"

echo "== trains"
fit "output.dir=$TEST_DIR/run" >"$TEST_DIR/json" || echo "exit $?"
updates "$TEST_DIR/json"
grep -o '"event":"epoch","epoch":3,"step":189,"steps":63,"examples":1000' "$TEST_DIR/json"
grep -c '"event": "workers"' "$TEST_DIR/run/record.jsonl"
"$DTRAIN" report "$TEST_DIR/run" -q || echo "exit $?"
grep -o '"workers": {"n": 3, "lost": 0, "again": 0, "dropped": 0, "staleness": \[' "$TEST_DIR/run/report.html"

echo "== the virtual schedule: the same bits"
for n in 1 2 4; do
    fit "output.dir=$TEST_DIR/virtual" --fresh strategy.schedule=virtual strategy.workers=$n strategy.parameter_servers=$n \
        "strategy.variable_partitioner={FixedShards: {num_shards: $n}}" >"$TEST_DIR/json.$n" || echo "exit $?"
    [ "$(weights "$TEST_DIR/json.$n")" = "$(weights "$TEST_DIR/json.1")" ] || echo "$n workers: other bits"
done
sed -n 's/.*"event":"workers","step":189.*\("staleness.*\)}/\1/p' "$TEST_DIR/json.2"
fit "output.dir=$TEST_DIR/sequence" strategy.schedule=virtual strategy.max_staleness=0 >"$TEST_DIR/json.0" || echo "exit $?"
fit "output.dir=$TEST_DIR/alone" 'strategy={type: default}' >"$TEST_DIR/json.1" || echo "exit $?"
loss() { grep '"event":"epoch","epoch":3' "$1" | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
awk "BEGIN { d = $(loss "$TEST_DIR/json.0") - $(loss "$TEST_DIR/json.1"); print (d < 1e-5 && d > -1e-5) ? \"staleness 0: as one process\" : \"staleness 0: the loss differs by \" d }"

near() { # WORDS...: three workers without staleness, and one process
    fit "output.dir=$TEST_DIR/near" --fresh strategy.schedule=virtual strategy.max_staleness=0 "$@" >"$TEST_DIR/json.0" || echo "exit $?"
    fit "output.dir=$TEST_DIR/alone" --fresh 'strategy={type: default}' "$@" >"$TEST_DIR/json.1" || echo "exit $?"
    awk "BEGIN { d = $(loss "$TEST_DIR/json.0") - $(loss "$TEST_DIR/json.1"); print (d < 1e-5 && d > -1e-5) ? \"$1: as one process\" : \"$1: the loss differs by \" d }"
}
near fit.gradient_accumulation_steps=4
near fit.gradient_accumulation_steps=3 "compile.loss={SparseCategoricalCrossentropy: {from_logits: true}}" dataset.global_batch_size=48
near compile.precision=mixed_bfloat16

echo "== a worker is killed"
begin fit.epochs=60 "output.dir=$TEST_DIR/lost"
lose KILL 1
ended $run
echo "exit $?"
updates "$TEST_DIR/json"
has "$TEST_DIR/err" "worker 1 (process "
has "$TEST_DIR/json" '"workers":2,"lost":1,'
begin fit.epochs=60 "output.dir=$TEST_DIR/lost" strategy.elastic=true
lose KILL 0 2
ended $run
echo "exit $?"
updates "$TEST_DIR/json"
has "$TEST_DIR/json" '"workers":3,"lost":2,'

echo "== a worker is stopped"
begin fit.epochs=60 "output.dir=$TEST_DIR/lost" strategy.timeout=1
lose STOP 1
ended $run
echo "exit $?"
updates "$TEST_DIR/json"
has "$TEST_DIR/err" "does not answer"
begin fit.epochs=60 "output.dir=$TEST_DIR/lost" --fresh strategy.timeout=7
lose STOP 1
ended $run
echo "exit $?"
has "$TEST_DIR/err" "worker 1 (process "
has "$TEST_DIR/err" "has not answered for 5 s; another one gets its batch after 7 s (strategy.timeout)"

echo "== the coordinator is stopped"
begin fit.epochs=100000 "output.dir=$TEST_DIR/lost" --fresh
kill -STOP $run
wait_for 'worker 0 has waited' "$TEST_DIR/err"
kill -CONT $run
kill -TERM $run
ended $run
echo "exit $?"
has "$TEST_DIR/err" " s for the coordinator, which validates, saves or is stopped"

echo "== the job is edited while it trains"
cp "$job" "$TEST_DIR/kept.yaml"
begin fit.epochs=100000 "output.dir=$TEST_DIR/lost" strategy.elastic=true
sed -i 's/units: 16/units: 17/' "$job"
kill -KILL "$(worker 1)"
wait_for 'was refused: the coordinator has' "$TEST_DIR/err"
kill -TERM $run
ended $run
echo "exit $?"
cp "$TEST_DIR/kept.yaml" "$job"

begin fit.epochs=100000 "output.dir=$TEST_DIR/lost" strategy.elastic=true
sed -i 's/units: 16/units: 17/' "$job"
lose KILL 0 1 2
ended $run
echo "exit $?"
has "$TEST_DIR/err" "all 3 workers are lost, and those started in their place cannot compute"
sed 's/epochs: 3/epochs: 100000/; s/timeout: 30/timeout: 30, elastic: true/' "$TEST_DIR/kept.yaml" >"$job"
begin "output.dir=$TEST_DIR/lost"
sed -i "s/^strategy:.*/strategy: {type: default}/; s/epochs: 100000/epochs: 1/; \$a output: {dir: $TEST_DIR/other}" "$job"
lose KILL 0 1 2
ended $run
echo "exit $?"
has "$TEST_DIR/err" "which it no longer has"
[ ! -e "$TEST_DIR/other" ] || echo "a worker has trained by itself"
cp "$TEST_DIR/kept.yaml" "$job"

echo "== the job comes by standard input"
"$DTRAIN" fit - --json --fresh "output.dir=$TEST_DIR/input" <"$job" >"$TEST_DIR/json" || echo "exit $?"
updates "$TEST_DIR/json"

echo "== all workers are killed"
begin fit.epochs=100000 "output.dir=$TEST_DIR/lost"
lose KILL 0 1 2
ended $run
echo "exit $?"
has "$TEST_DIR/err" "all 3 workers are lost"

echo "== a signal"
begin fit.epochs=100000 "output.dir=$TEST_DIR/signal"
kill -TERM $run
ended $run
echo "exit $?"
step=$(sed -n 's/.*"event":"checkpoint","step":\([0-9]*\).*/\1/p' "$TEST_DIR/json" | tail -1)
[ "$(updates "$TEST_DIR/json")" = "$step updates" ] || echo "saved after step $step, but $(updates "$TEST_DIR/json")"
fit "output.dir=$TEST_DIR/signal" --steps $((step + 100)) fit.epochs=100000 >"$TEST_DIR/json" || echo "exit $?"
updates "$TEST_DIR/json"

echo "== the coordinator is killed"
begin fit.epochs=100000 "output.dir=$TEST_DIR/coordinator"
pids=$(below $run | cut -d' ' -f1)
kill -KILL $run
wait $run
echo "exit $?"
# shellcheck disable=SC2086 # words
all_gone $pids
has "$TEST_DIR/err" 'the coordinator, which has the weights, is gone'
fit "output.dir=$TEST_DIR/coordinator" fit.epochs=100000 --resume must --steps 200 >"$TEST_DIR/json" || echo "exit $?"

echo "== an error in a worker"
show fit "$job" "output.dir=$TEST_DIR/bad" strategy.workers=1 'model={type: sequential, layers: [Input: {name: image, shape: [6, 6, 1]}, Flatten, Embedding: {input_dim: 2, output_dim: 2}, Flatten, Dense: {units: 3}]}' 'dataset.map={image: [rescale: {scale: 9}, cast: int32]}' -q | sed 's/row number -*[0-9]* at .* is not/row number N is not/'

echo "== refused"
DTRAIN_POOL_WORKER='0 1 1 0' show fit "$job" -n -q
DTRAIN_POOL_WORKER='1 1 1' show fit "$job" -n -q
show fit "$job" -n -q 'strategy={type: parameter_server, variable_partitioner: {}}'
show fit "$job" -n -q 'strategy={type: parameter_server, variable_partitioner: {MinSize: {}, MaxSize: {max_shard_bytes: 4}}}'
show fit "$job" -n -q 'strategy={type: parameter_server, workers: 0, max_staleness: -1}'
show fit "$job" -n -q 'strategy={type: mirrored, elastic: true}'
show fit "$job" -q compile.precision=mixed_float16 "output.dir=$TEST_DIR/bad"
