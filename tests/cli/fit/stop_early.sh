#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A signal at a time when the program does not look at its flag. Before the first step (a model of many million weights is being made) the first one ends the
# process at once: 75, nothing is lost. Later (the reader of a pipe has stopped) the second one does: 143 or 130; what was saved stands.
# check-fast: train
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
# resident PID: the kilobytes that it has touched.
resident() {
    sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"
}
# milliseconds SINCE: until now.
milliseconds() {
    echo $((($(date +%s%N) - $1) / 1000000))
}

for signal in TERM INT; do
    "$DTRAIN" fit "$tiny" --json model.layers.1.Dense.units=20000000 >"$TEST_DIR/a" 2>"$TEST_DIR/err" &
    for _ in $(seq 6000); do
        [ "$(resident $!)" -gt 150000 ] && break
        sleep 0.01
    done
    since=$(date +%s%N)
    kill -$signal $!
    ended $!
    echo "SIG$signal before the first step: exit $?"
    [ "$(milliseconds "$since")" -lt 1000 ] || echo "took $(milliseconds "$since") ms"
    cat "$TEST_DIR/a"
    hide <"$TEST_DIR/err"
done

mkfifo "$TEST_DIR/pipe"
for signal in TERM INT; do
    rm -rf "$TEST_DIR/run"
    "$DTRAIN" fit "$tiny" fit.epochs=10000000 --json --every-step >"$TEST_DIR/pipe" 2>"$TEST_DIR/err" &
    run=$!
    exec 3<"$TEST_DIR/pipe"
    for _ in $(seq 600); do
        ls "$TEST_DIR"/run/ckpt/step-*[0-9] >"$TEST_DIR/ls" 2>&1 && break
        sleep 0.1
    done
    for _ in $(seq 100); do # until the pipe is full, which some systems do not tell
        grep -q pipe "/proc/$run/wchan" && break
        sleep 0.1
    done
    kill -$signal $run
    sleep 0.3
    kill -0 $run || echo "the first one has ended it"
    since=$(date +%s%N)
    kill -$signal $run
    ended $run
    echo "SIG$signal twice: exit $?"
    [ "$(milliseconds "$since")" -lt 1000 ] || echo "took $(milliseconds "$since") ms"
    hide <"$TEST_DIR/err"
    exec 3<&-
    exits 0 evaluate "$tiny"
done
