#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Faults of a plug-in, which a fake one shows (tests/pjrt/fake_device.c): a device that is lost in the middle of training, one without memory, functions
# that are missing, a signal while it compiles, a path from a file of another user. Checkpoints stay valid, and cpu resumes from them.
. tests/cli/setup.sh
write_tiny
fake=$BUILD/tests/pjrt/fake_device.so
[ -f "$fake" ] || { echo "no $fake: make $BUILD/tests/pjrt/client_test" && exit 77; }
"$DTRAIN" fit "$tiny" -q --plugin "$fake" "output.dir=$TEST_DIR/whole" checkpoint.save_freq=4 || echo "exit $?"
ls "$TEST_DIR/whole/ckpt"

# Lost in any of these steps, two of which validate.
for step in 4 9 13; do
    run=$TEST_DIR/lost-$step
    FAKE_DEVICE="lost=$step" "$DTRAIN" fit "$tiny" -q --plugin "$fake" "output.dir=$run" checkpoint.save_freq=2 2>"$TEST_DIR/err"
    echo "step $step: exit $?"
    has "$TEST_DIR/err" 'UNAVAILABLE: the device is gone'
    [ -d "$run/ckpt" ] || continue
    "$DTRAIN" ckpt verify "$run" >"$TEST_DIR/out" 2>&1 || cat "$TEST_DIR/out"
    "$DTRAIN" fit "$tiny" -q "output.dir=$run" checkpoint.save_freq=2 || echo "cpu: exit $?"
done
FAKE_DEVICE=full=9 "$DTRAIN" fit "$tiny" -q --plugin "$fake" "output.dir=$TEST_DIR/full" 2>&1 | hide | sed 's/^dtrain: error: .*fake_device.so/PLUGIN/; s/B, optimizer .*/B, .../'

# Of two workers, whose steps are two programs each: a device that is lost in the first or the second one of a step.
for program in 9 12; do
    run=$TEST_DIR/workers-$program
    FAKE_DEVICE="lost=$program" "$DTRAIN" fit "$tiny" -q --plugin "$fake" --workers 2 strategy.type=multi_worker_mirrored "output.dir=$run" checkpoint.save_freq=2 2>"$TEST_DIR/err"
    echo "program $program of workers: exit $?"
    has "$TEST_DIR/err" 'UNAVAILABLE: the device is gone'
    "$DTRAIN" ckpt verify "$run" >"$TEST_DIR/out" 2>&1 || cat "$TEST_DIR/out"
    "$DTRAIN" fit "$tiny" -q "output.dir=$run" checkpoint.save_freq=2 || echo "cpu: exit $?"
done

# A parameter server has the weights, its workers have the devices. One that is still starting may report that the coordinator has ended.
servers='strategy={type: parameter_server, workers: 2}'
"$DTRAIN" fit "$tiny" -q --plugin "$TEST_DIR/none.so" "$servers" "output.dir=$TEST_DIR/servers" 2>&1 | sed "s|$TEST_DIR|DIR|g; s/worker [01], batch [12]/worker W, batch B/; s/in step .*/in step N/
    /the coordinator, which has the weights, is gone/d; /start the coordinator and its workers again/d"
FAKE_DEVICE=lost=3 exits 69 fit "$tiny" -q --plugin "$fake" "$servers" "output.dir=$TEST_DIR/servers"
has "$TEST_DIR/err" 'UNAVAILABLE: the device is gone'

# The arrays of a step come from a thread that reads ahead, before it starts. Steps start before the one before is finished, unless something comes between: the
# end of an epoch of six, a checkpoint, a line of the record with a scheduled rate, a callback that looks at steps, an injected fault. The histories are the same.
run=0
for words in '' checkpoint.save_freq=2 'compile.optimizer={SGD: {learning_rate: {ExponentialDecay: {initial_learning_rate: 0.05, decay_steps: 5, decay_rate: 0.9}}}}' \
    'fit.callbacks=[TensorBoard]' '--inject=nan@step=12'; do
    run=$((run + 1))
    FAKE_DEVICE=tell "$DTRAIN" fit "$tiny" -q --plugin "$fake" ${words:+"$words"} "output.dir=$TEST_DIR/ahead-$run" 2>&1 | sed -n '/^[0-9]* steps/s/$/ /p' | tr -d '\n'
    cmp "$TEST_DIR/ahead-1/history.jsonl" "$TEST_DIR/ahead-$run/history.jsonl" && echo "$words"
done

plugin() {
    echo "$1: $("$DTRAIN" fit "$tiny" -q --plugin "$2" "output.dir=$TEST_DIR/none" 2>&1 | sed "s|$TEST_DIR|DIR|g; s|$fake|FAKE|g")"
}
plugin 'no file' "$TEST_DIR/none.so"
plugin 'no plug-in' libm.so.6
FAKE_DEVICE=lack=55 plugin 'no execute' "$fake"
FAKE_DEVICE=devices=0 plugin 'no devices' "$fake"
FAKE_DEVICE=refuse=dot_general plugin 'refused' "$fake"
"$DTRAIN" fit "$tiny" -q --plugin "$TEST_DIR/none.so" 2>/dev/null
echo "exit $?"
show fit "$tiny" -q --backend pjrt
show fit "$tiny" -q --backend cuda
FAKE_DEVICE='' exits 78 fit "$tiny" -q --plugin "$fake" 'reproducible={shards: 4}'
has "$TEST_DIR/err" "reproducible: the bits of results are the plug-in's"

# A signal while it compiles, before there is anything to save.
FAKE_DEVICE=slow "$DTRAIN" fit "$tiny" -q --plugin "$fake" "output.dir=$TEST_DIR/slow" 2>/dev/null &
pid=$!
sleep 2
kill -TERM $pid
sleep 1
kill -TERM $pid 2>/dev/null
ended $pid
code=$?
case $code in 75 | 143) echo "stopped while compiling" ;; *) echo "stopped with $code" ;; esac

# A plug-in is code: the file that a job extends does not choose it, nor does a checkpoint.
echo "backend: {type: pjrt, plugin: $fake}" >"$TEST_DIR/base.yaml"
sed '/^version/d' "$tiny" >>"$TEST_DIR/base.yaml"
sed -i '1i version: 1' "$TEST_DIR/base.yaml"
printf 'version: 1\nextends: base.yaml\n' >"$TEST_DIR/job.yaml"
show validate "$TEST_DIR/job.yaml" | sed '/^ *[0-9]* *|/d; /\^/d'
"$DTRAIN" fit "$tiny" -q "output.dir=$TEST_DIR/whole" fit.epochs=4 || echo "cpu after pjrt: exit $?"

# This machine's TPU, where the plug-in says that there is one.
FAKE_DEVICE=tpu "$DTRAIN" fit "$tiny" --plugin "$fake" 'strategy={type: tpu, cluster_resolver: {tpu: local}}' "output.dir=$TEST_DIR/tpu" | sed -n 's/^devices *//p'
FAKE_DEVICE=tpu "$DTRAIN" devices --plugin "$fake" | sed -n '/^plug-in/,/^slices/p' | sed '$d'

# A back end that is named though it is the strategy's own.
slice='strategy={type: tpu, cluster_resolver: {tpu: "sim:v2-8"}}'
"$DTRAIN" fit "$tiny" -q "$slice" 'backend={type: sim}' "output.dir=$TEST_DIR/sim" || echo "sim: exit $?"
"$DTRAIN" fit "$tiny" -q "$slice" --backend cpu "output.dir=$TEST_DIR/behind" || echo "cpu behind sim: exit $?"
"$DTRAIN" fit "$tiny" -q 'backend={type: cpu}' "output.dir=$TEST_DIR/own" || echo "cpu: exit $?"

# A row number that the table has no row for: a plug-in would take the nearest row. It is found before the batch goes up, as cpu finds it in the step.
awk 'BEGIN { print "a,y"; for (i = 0; i < 60; i++) print (i == 47 ? 12 : i % 10 - (i % 3 == 0)) "," i % 2 }' | sed 's/^-1,/-2,/' >"$TEST_DIR/ids.csv"
cat >"$TEST_DIR/ids.yaml" <<'END'
version: 1
strategy: {type: default}
dataset: {format: csv, train: ids.csv, element: {a: {column: a, dtype: int32}, y: {column: y, dtype: int32}}, global_batch_size: 20}
model: {layers: [Input: {name: a, shape: [], dtype: int32}, Embedding: {input_dim: 10, output_dim: 4}, Dense: {units: 2}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
output: {dir: ids}
END
for plugin in '' "--plugin=$fake"; do
    "$DTRAIN" fit "$TEST_DIR/ids.yaml" -q -C "$TEST_DIR" ${plugin:+"$plugin"} 2>&1 | hide
done
