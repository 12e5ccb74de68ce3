#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --expect: exit 0 if it holds, 80 if not (the run is trained and saved nevertheless), 78 for a metric that the job lacks; also when all
# epochs were trained before.
. tests/cli/setup.sh
write_tiny
exits 78 fit "$tiny" --expect 'val_acc>0'
cat "$TEST_DIR/err"
[ ! -e "$TEST_DIR/run" ] || echo "trained before the metric was looked for"
exits 0 fit "$tiny" --expect 'val_loss>=0' --expect 'loss<1000' --expect 'accuracy <= 1'
exits 80 fit "$tiny" --fresh --expect 'loss<0' --expect 'val_accuracy>=0' --expect 'accuracy>1.5'
mask <"$TEST_DIR/err"
exits 80 fit "$tiny" --expect 'loss<0'
exits 0 fit "$tiny" --expect 'loss>0'
"$DTRAIN" fit "$tiny" --json --expect 'loss<0' 2>/dev/null | grep -v '"start"' | mask
# learning_rate is one of them where callbacks change it, and a name that is near is named
exits 78 fit "$tiny" --expect 'learning_rate<1'
rate='fit.callbacks=[LearningRateScheduler: {schedule: {ExponentialDecay: {initial_learning_rate: 0.1, decay_steps: 1, decay_rate: 0.5}}}]'
exits 80 fit "$tiny" --fresh "$rate" --expect 'learning_rate<0.01'
cat "$TEST_DIR/err"
exits 0 fit "$tiny" "$rate" --expect 'learning_rate<=0.1'
exits 78 fit "$tiny" --expect 'vall_accuracy>0'
cat "$TEST_DIR/err"
exits 78 evaluate "$tiny" "$rate" --expect 'learning_rate<1'
# any word that a metric may have, and as many metrics as there is room for
long=$(printf 'n%.0s' $(seq 100))
exits 0 fit "$tiny" --fresh "compile.metrics=[{SparseCategoricalAccuracy: {name: head-a.$long}}]" --expect "head-a.$long>=0" --expect "val_head-a.$long>=0"
many=$(for i in $(seq 64); do printf '{SparseCategoricalAccuracy: {name: m%d}}, ' "$i"; done)
exits 0 fit "$tiny" --fresh "compile.metrics=[$many]" --expect 'm64>=0' --expect 'val_m1>=0' --expect 'val_m64<=1'
exits 0 evaluate "$tiny" "compile.metrics=[$many]" --expect 'm64<=1'
exits 78 fit "$tiny" --expect "$long<1"
sed 's/nnn*/n../' "$TEST_DIR/err"
# where the weights of an earlier epoch are kept, metrics of training are those of that epoch; a file of fit has a metric of
# validation behind val_
kept='fit.callbacks=[EarlyStopping: {monitor: loss, mode: max, patience: 1, restore_best_weights: true}]'
exits 0 fit "$tiny" -q --fresh "$kept" fit.epochs=5 --metrics "$TEST_DIR/kept.json"
for name in loss accuracy; do
    grep -o "\"$name\": [^,}]*" "$TEST_DIR/kept.json" >"$TEST_DIR/value"
    head -n 1 "$TEST_DIR/run/history.jsonl" | grep -qF "$(cat "$TEST_DIR/value")" || echo "$name is not that of epoch 1"
done
exits 0 fit "$tiny" -q "$kept" fit.epochs=5 --expect "loss >= $TEST_DIR/run" --expect "loss >= $TEST_DIR/kept.json"
exits 0 evaluate "$tiny" -q "$kept" fit.epochs=5 --expect "loss <= $TEST_DIR/kept.json" --expect "loss >= $TEST_DIR/run"
