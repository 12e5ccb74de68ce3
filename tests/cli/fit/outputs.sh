#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A model of two outputs: losses, metrics and targets by name; the same for any number of replicas; evaluated, predicted, exported by name; and the errors
# for names that do not exist.
. tests/cli/setup.sh
. tests/cli/jobs.sh
job=tests/jobs/outputs.yaml
for replicas in 1 2 7 32; do
    "$DTRAIN" fit "$job" strategy.replicas=$replicas output.dir="$TEST_DIR/$replicas" --json >"$TEST_DIR/$replicas.json" || echo "exit $?"
    [ "$(weights "$TEST_DIR/$replicas.json")" = "$(weights "$TEST_DIR/1.json")" ] || echo "$replicas replicas: other weights"
    cmp "$TEST_DIR/1/history.jsonl" "$TEST_DIR/$replicas/history.jsonl"
done
grep -o '"[a-z_]*":' "$TEST_DIR/1/history.jsonl" | sort | uniq -c | sed 's/^ *//' | tr '\n' ' '
echo
[ "$(hash "$job" reproducible.shards=8 strategy.replicas=1)" = "$(hash "$job" reproducible.shards=8 output.dir="$TEST_DIR/shards")" ] || echo 'shards: other weights'
"$DTRAIN" evaluate "$job" output.dir="$TEST_DIR/7" --json >"$TEST_DIR/evaluated" || echo "exit $?"
for key in loss kind_loss side_loss kind_accuracy side_accuracy; do
    [ "$(value "val_$key" "$TEST_DIR/7/history.jsonl")" = "$(value "$key" "$TEST_DIR/evaluated")" ] || echo "evaluate: another $key"
done
for suffix in csv jsonl; do
    "$DTRAIN" predict "$job" output.dir="$TEST_DIR/7" -o "$TEST_DIR/y.$suffix" -q || echo "exit $?"
    head -n 1 "$TEST_DIR/y.$suffix" | sed 's/-*[0-9.]*[0-9]\.[0-9]*/x/g'
    wc -l <"$TEST_DIR/y.$suffix"
done
show predict "$job" output.dir="$TEST_DIR/7" -o "$TEST_DIR/y.npy" -q
exits 0 export "$job" output.dir="$TEST_DIR/7" -o "$TEST_DIR/m.onnx"
exits 0 fit "$job" output.dir="$TEST_DIR/x" 'compile.loss=SparseCategoricalCrossentropy' 'compile.metrics=[acc, [acc]]' --expect 'kind_acc>=0' --expect 'val_side_loss<=9'
exits 0 fit "$job" output.dir="$TEST_DIR/y" 'compile.loss={kind: sparse_categorical_crossentropy, side: null}' compile.loss_weights=null 'compile.metrics={side: SparseCategoricalAccuracy}' \
    --expect 'side_sparse_categorical_accuracy>=0'
exits 78 fit "$job" output.dir="$TEST_DIR/x" --expect 'kind_acuracy>=0'
for change in 'compile.loss={knd: mse, side: mse}' 'compile.loss={kind: mse}' 'compile.loss={kind: null, side: null}' 'compile.loss=[mse]' 'compile.loss_weights=2' \
    'compile.loss_weights={kind: -1}' 'compile.metrics=[accuracy]' 'compile.metrics={kind: [accuracy], sidee: [accuracy]}' 'compile.target={kind: kidn}' \
    'compile.target=kind' 'compile.metrics={kind: [{SparseCategoricalAccuracy: {name: loss}}]}' 'fit.class_weight={0: 2}' \
    'fit.callbacks=[{EarlyStopping: {monitor: val_kind_los}}]' 'model.outputs=[kind, sied]'; do
    "$DTRAIN" fit "$job" -n output.dir="$TEST_DIR/x" "$change" 2>&1 | sed "s|$TEST_DIR|DIR|g"
done
