#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: net strategy train
# fit --workers N: processes of this machine without MPI. The bits of one process; a lost worker is named, and --max-restarts goes on to the same bits;
# signals; no process is left behind.
. tests/cli/setup.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
strategy: {type: multi_worker_mirrored, timeout: 3}
reproducible: {shards: 8}
dataset: {format: synthetic, examples: 61, element: {image: {shape: [6, 6, 1]}, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 16}
model: {type: sequential, layers: [Input: {name: image, shape: [6, 6, 1]}, Flatten, Dense: {units: 16}, Dropout: {rate: 0.2}, Dense: {units: 3}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
checkpoint: {save_freq: 50}
END
fit() { timeout -k 3 100 "$DTRAIN" fit "$job" --threads 1 "$@"; }
none_left() { sleep 0.2 && pgrep -f "fit $job" && echo "$1: left behind"; return 0; }

echo "== the same bits"
fit "output.dir=$TEST_DIR/one" --json >"$TEST_DIR/one.json"
one=$(weights "$TEST_DIR/one.json")
for n in 2 3 4; do
    fit "output.dir=$TEST_DIR/run" --fresh --workers $n --json >"$TEST_DIR/json" || echo "exit $?"
    [ "$(weights "$TEST_DIR/json")" = "$one" ] || echo "$n workers: other bits"
done
none_left bits

echo "== without a strategy"
for n in 1 2; do
    sed -i '/^strategy/d' "$job"
    fit "output.dir=$TEST_DIR/run" --fresh --workers $n --json >"$TEST_DIR/json" || echo "exit $?"
    [ "$(weights "$TEST_DIR/json")" = "$one" ] || echo "$n workers: other bits"
    grep -o '"device":"[^"]*"' "$TEST_DIR/json"
done
echo 'strategy: {type: multi_worker_mirrored, timeout: 3}' >>"$job"

echo "== in buckets, beside the backward pass"
layers='model.layers=[Input: {name: image, shape: [6, 6, 1]}, Flatten, Dense: {units: 1300, activation: relu}, Dense: {units: 1300, activation: relu}, Dense: {units: 1300}, Dense: {units: 3}]'
fit "output.dir=$TEST_DIR/one" --fresh "$layers" --json >"$TEST_DIR/one.json"
for n in 2 3; do
    fit "output.dir=$TEST_DIR/run" --fresh "$layers" --workers $n 'output.trace={steps: [2, 4]}' --json >"$TEST_DIR/json" || echo "exit $?"
    [ "$(weights "$TEST_DIR/json")" = "$(weights "$TEST_DIR/one.json")" ] || echo "$n workers: other bits"
    "$DTRAIN" trace "$TEST_DIR/run" | grep -o '"name": "exchanges"'
done

echo "== a bit flips on one worker"
fit "output.dir=$TEST_DIR/run" --fresh --workers 3 strategy.verify_replicas=true --quiet || echo "none did: exit $?"
fit "output.dir=$TEST_DIR/run" --fresh --workers 3 strategy.verify_replicas=true --quiet --inject flip:worker=2@step=3 2>"$TEST_DIR/err"
echo "exit $?"
sed -n "s/.*\(step [0-9]*: replicas differ: the SHA-256 of '[a-z0-9_\/]*': worker [0-9]\) has [0-9a-f]\{64\}, \(worker [0-9]\) has .*/\1, \2/p" "$TEST_DIR/err" | sort -u
fit "output.dir=$TEST_DIR/run" --fresh --workers 3 --quiet --inject flip:worker=2@step=3 2>"$TEST_DIR/err"
echo "unseen: exit $?"

echo "== refused"
show fit "$job" --workers 65
show fit "$job" --max-restarts 2
show fit - --workers 2
fit --workers 3 fit.epochs=x 2>&1 | grep -c 'expected an integer'
fit --workers 3 output.dir=/proc/none 2>&1 | grep -c 'error:.*could not open the run'
fit --workers 2 strategy.workers=3 2>&1 | grep -q 'the job has 3 workers, but --workers says 2' && echo 'not three'
for strategy in '{type: default}' '{replicas: 2}'; do # another strategy
    fit --workers 2 "strategy=$strategy" >"$TEST_DIR/out" 2>&1
    echo "exit $?"
    sort -u "$TEST_DIR/out"
done
DTRAIN_WORKER='0 - 1' "$DTRAIN" fit "$job" >"$TEST_DIR/out" 2>&1
echo "exit $?"
none_left refused

# worker RANK: its process.
worker() {
    for pid in $(pgrep -f "fit $job"); do
        [ "$(ps -o ppid= -p "$pid" | tr -d ' ')" = "$launcher" ] && echo "$pid"
    done | sed -n "$(($1 + 1))p"
}
# begin WORDS...: a long run of three in the background.
begin() {
    rm -f "$TEST_DIR/json"
    : >"$TEST_DIR/json" # wait_for would read what the run before has written
    "$DTRAIN" fit "$job" --threads 1 --workers 3 --json "$@" >"$TEST_DIR/json" 2>"$TEST_DIR/err" &
    launcher=$!
    wait_for '"epoch":30,' "$TEST_DIR/json"
}
echo "== lost"
begin "output.dir=$TEST_DIR/lost" fit.epochs=1000000
kill -KILL "$(worker 1)"
ended $launcher
echo "exit $?"
has "$TEST_DIR/err" "was ended by signal 9"
has "$TEST_DIR/err" "rank 1 left while rank "
none_left killed
begin "output.dir=$TEST_DIR/lost" fit.epochs=1000000 --fresh strategy.timeout=7
kill -STOP "$(worker 1)"
ended $launcher
echo "exit $?"
has "$TEST_DIR/err" "which is stopped"
has "$TEST_DIR/err" "has waited 5 s for rank 1, process "
has "$TEST_DIR/err" ", which is stopped; it counts as lost after "
none_left stopped
begin "output.dir=$TEST_DIR/lost" fit.epochs=1000000 --fresh
kill -KILL $launcher
sleep 1
none_left "without a parent"

echo "== started again"
fit "output.dir=$TEST_DIR/long" fit.epochs=400 --json >"$TEST_DIR/long.json"
begin "output.dir=$TEST_DIR/again" fit.epochs=400 --max-restarts 2 --fresh
kill -KILL "$(worker 2)"
wait $launcher
echo "exit $?"
has "$TEST_DIR/err" "starting the workers again, 1 of 2 times"
[ "$(weights "$TEST_DIR/json")" = "$(weights "$TEST_DIR/long.json")" ] || echo "started again: other bits"

echo "== stopped by a signal"
begin "output.dir=$TEST_DIR/stop" fit.epochs=400
kill -TERM $launcher
ended $launcher
echo "exit $?"
fit "output.dir=$TEST_DIR/stop" fit.epochs=400 --workers 2 --json >"$TEST_DIR/json" || echo "exit $?"
[ "$(weights "$TEST_DIR/json")" = "$(weights "$TEST_DIR/long.json")" ] || echo "stopped and resumed: other bits"

echo "== stopped when all is done"
cat >"$TEST_DIR/late.c" <<'END'
#include <signal.h>
#include <stdlib.h>
/* Workers but the first one stop as they end. */
__attribute__((destructor)) static void stop(void)
{
    const char *worker = getenv("DTRAIN_WORKER");
    if (worker && worker[0] != '0')
        raise(SIGSTOP);
}
END
late=$(preload late) || exit
LD_PRELOAD="$late" timeout -k 3 60 "$DTRAIN" fit "$job" --threads 1 --workers 3 --fresh "output.dir=$TEST_DIR/late" >"$TEST_DIR/out" 2>&1
echo "exit $?"
has "$TEST_DIR/out" "a worker does not end by itself: it is killed"
none_left "at the end"
