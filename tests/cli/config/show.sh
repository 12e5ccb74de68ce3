#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job as it is resolved, with the origin of each value; what is printed is a job that means the same; differences.
. tests/cli/setup.sh
write_tiny
cat >"$TEST_DIR/job.yaml" <<END
extends: tiny.yaml
name: mine                      # of its own
strategy: {type: one_device, device: "CPU:0"}
fit: {epochs: 3}
END
"$DTRAIN" config show --origin "$TEST_DIR/job.yaml" dataset.global_batch_size=16 | hide | sed "s,  *#, #,"
"$DTRAIN" config show "$TEST_DIR/job.yaml" >"$TEST_DIR/shown.yaml"
for job in job shown; do
    "$DTRAIN" fit "$TEST_DIR/$job.yaml" --json output.dir="$TEST_DIR/$job" >"$TEST_DIR/out" || echo "exit $?"
    weights "$TEST_DIR/out" >"$TEST_DIR/$job.sha"
done
cmp "$TEST_DIR/job.sha" "$TEST_DIR/shown.sha"
"$DTRAIN" config diff "$tiny" "$TEST_DIR/job.yaml" compile.optimizer.SGD.learning_rate=5e-2 | hide
echo "against the run"
"$DTRAIN" config diff "$TEST_DIR/job.yaml" "$TEST_DIR/job" | hide
echo "nothing"
"$DTRAIN" config diff "$tiny" "$tiny"
exits 64 config diff "$tiny"
exits 64 config diff "$tiny" seed=1 "$tiny"
exits 64 config diff "$tiny" "$TEST_DIR/job" seed=1
exits 66 config diff "$tiny" "$TEST_DIR/none.yaml"
exits 66 config diff "$tiny" "$TEST_DIR"
exits 78 config show "$tiny" fit.epoch=1
exits 66 config show "$TEST_DIR/none.yaml"
exits 64 config show
# what is printed of each job of ours is right; its data may be missing where it is looked for (66)
for job in configs/*.yaml configs/published/*.yaml; do
    exits 0 config show "$job"
    mv "$TEST_DIR/out" "$TEST_DIR/shown.yaml"
    "$DTRAIN" validate -q "$TEST_DIR/shown.yaml" 2>"$TEST_DIR/err" && code=0 || code=$?
    [ "$code" -eq 0 ] || [ "$code" -eq 66 ] || { echo "$job, shown: exit $code" && cat "$TEST_DIR/err"; }
done
exits 0 validate configs/published/llama3-8b.yaml dataset.global_batch_size=256
