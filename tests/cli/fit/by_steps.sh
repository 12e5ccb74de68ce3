#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: train job
# fit.steps with validation_freq: each validation is printed when it happens, and recorded; callbacks act at that step. A log has a line at least every
# 30 s: here the clock runs a thousand times faster.
. tests/cli/setup.sh
write_tiny
sed -i 's|^fit: .*|fit: {steps: 14, validation_freq: 4, callbacks: [CSVLogger: {filename: log.csv}]}|; s|^output: .*|output: {dir: "'"$TEST_DIR"'/run", tensorboard: true, report: html}|' "$tiny"
"$DTRAIN" fit "$tiny" | sed -n 's/ [0-9.]*[0-9]\( \|$\)/ N\1/g; /^step\|^epoch/p'
sed 's/: [-0-9.e]*[0-9]\([,}]\)/\1/3g; s/"crc32c": "[0-9a-f]*"/"crc32c"/' "$TEST_DIR/run/history.jsonl"
tr -d '\r' <"$TEST_DIR/run/log.csv" | sed '2,$s/\(,[0-9]*\),.*/\1/'
"$DTRAIN" fit "$tiny" --fresh --json | sed -n 's/.*"event":"eval","step":\([0-9]*\),.*"val_loss".*/eval \1/p'
[ "$(grep -c '<title>' "$TEST_DIR/run/report.html")" -gt 0 ] || echo 'no report'
# Early stopping at the second validation, not at an epoch's end; --expect sees the last ones.
"$DTRAIN" fit "$tiny" --fresh --expect 'val_loss<100' --expect 'loss<100' fit.steps=200 fit.validation_freq=8 \
    'fit.callbacks=[EarlyStopping: {patience: 1, min_delta: 9}, ModelCheckpoint: {filepath: "b-{epoch}-{batch}-{val_accuracy:.0f}", save_best_only: true, save_freq: 3}]' >"$TEST_DIR/out"
grep -E '^step [0-9]+:|^saved' "$TEST_DIR/out" | sed 's/-[01]$//; s/ from [0-9.]* to [0-9.]*/ from N to N/; s/.*\(step-[0-9]*\).*/\1/'
# A number of steps that cannot be counted is refused.
"$DTRAIN" fit "$tiny" --fresh fit.steps= fit.epochs=2000000000 fit.steps_per_epoch=1000000000000000 fit.validation_freq=1 2>&1 | sed "s|$TEST_DIR/||"

cat >"$TEST_DIR/fast.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
/* Monotonic time alone: that is what runs measure by. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const int code = real(id, t);
    if (id == CLOCK_MONOTONIC) {
        const long long now = ((long long)t->tv_sec * 1000000000 + t->tv_nsec) % 1000000000000 * 1000;
        t->tv_sec = now / 1000000000;
        t->tv_nsec = now % 1000000000;
    }
    return code;
}
END
fast=$(preload fast -ldl) || exit
long='dataset.examples=48000 fit.steps=4000 fit.validation_freq=4000 fit.callbacks= output.report= output.tensorboard= checkpoint.save_freq=4000'
is_progress='^step [0-9,]+/4,000  loss [0-9.]+  accuracy [0-9.]+  [0-9.e+]+ steps/s  ETA [0-9:]+$'
# shellcheck disable=SC2086 # words
LD_PRELOAD=$fast "$DTRAIN" fit "$tiny" --fresh $long >"$TEST_DIR/out"
grep -vE '^epoch|^job|^devices|^data|^memory|^saved|^validation ' "$TEST_DIR/out" | grep -vE "$is_progress"
[ "$(grep -cE "$is_progress" "$TEST_DIR/out")" -gt 0 ] || echo 'no line of progress'
# On a terminal there is a bar, and the lines are the log's alone.
on_terminal "LD_PRELOAD='$fast' '$DTRAIN' fit '$tiny' --fresh $long --log-file '$TEST_DIR/log'" >"$TEST_DIR/out"
grep -cE '^step' "$TEST_DIR/out"
[ "$(grep -cE "$is_progress" "$TEST_DIR/log")" -gt 0 ] || echo 'no line of progress in the log'
# A validation that takes longer than that says how far it is, as does evaluate.
many='dataset.examples=600000 dataset.validation_split=0.99 fit.steps=1 fit.validation_freq=1 fit.callbacks= output.report= output.tensorboard= checkpoint.save_freq=4000'
is_evaluating='^validation  [0-9,]+/594,000 examples$'
# shellcheck disable=SC2086 # words
LD_PRELOAD=$fast "$DTRAIN" fit "$tiny" --fresh $many >"$TEST_DIR/out"
[ "$(grep -cE "$is_evaluating" "$TEST_DIR/out")" -gt 0 ] || echo 'no line of progress in a validation'
# shellcheck disable=SC2086 # words
LD_PRELOAD=$fast "$DTRAIN" evaluate "$tiny" $many >"$TEST_DIR/out"
[ "$(grep -cE "$is_evaluating" "$TEST_DIR/out")" -gt 0 ] || echo 'no line of progress in evaluate'
