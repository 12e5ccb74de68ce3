#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One run that begins on cpu, goes on with XLA and ends on cpu, stopped within epochs, ends with the numbers of a run on cpu alone; one that is killed on XLA goes
# on from its checkpoint. evaluate and predict give the same on both, and an exported model has the weights of the device.
. tests/cli/setup.sh
. tests/cli/jobs.sh
# shellcheck source=/dev/null
. tests/cli/pjrt.inc
needs_digits
needs_xla
fit() { "$DTRAIN" fit configs/quickstart.yaml 'strategy={type: default}' fit.epochs=3 "$@"; }
fit -q "output.dir=$TEST_DIR/cpu"
for step in 100:cpu 250:pjrt 400:pjrt 1000:cpu; do
    fit -q "output.dir=$TEST_DIR/both" --steps "${step%:*}" --backend "${step#*:}" || echo "$step: exit $?"
done
same_history "$TEST_DIR/cpu" "$TEST_DIR/both" 1e-4

"$DTRAIN" fit configs/quickstart.yaml 'strategy={type: default}' fit.epochs=3 "output.dir=$TEST_DIR/killed" --backend pjrt checkpoint.save_freq=20 >"$TEST_DIR/killed.out" 2>&1 &
pid=$!
wait_for 'epoch 1/3' "$TEST_DIR/killed.out"
kill -9 $pid
wait $pid 2>/dev/null
fit -q "output.dir=$TEST_DIR/killed" --backend pjrt || echo "after kill -9: exit $?"
same_history "$TEST_DIR/cpu" "$TEST_DIR/killed" 1e-4

for on in cpu pjrt; do
    for verb in evaluate predict; do
        set -- --backend $on --ckpt "$TEST_DIR/cpu"
        if [ $verb = evaluate ]; then set -- "$@" --json; else set -- "$@" --split validation -o "$TEST_DIR/$on.csv"; fi
        "$DTRAIN" $verb configs/quickstart.yaml 'strategy={type: default}' "$@" >"$TEST_DIR/$verb-$on" 2>&1 || cat "$TEST_DIR/$verb-$on"
    done
done
near "$(value loss "$TEST_DIR/evaluate-cpu")" "$(value loss "$TEST_DIR/evaluate-pjrt")" 1e-5 || cat "$TEST_DIR/evaluate-cpu" "$TEST_DIR/evaluate-pjrt"
wc -l <"$TEST_DIR/pjrt.csv"
paste -d, "$TEST_DIR/cpu.csv" "$TEST_DIR/pjrt.csv" | awk -F, 'NR > 1 { for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d > 1e-3 || d < -1e-3) bad++ } } END { if (bad) print bad " predictions differ" }'
