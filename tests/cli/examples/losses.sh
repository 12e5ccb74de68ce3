#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# On 9,984 examples, which every global batch divides, a program in C and its job file end with the same loss to 1e-5. The programs
# are those of examples/, with these examples only and more digits printed.
. tests/cli/setup.sh
. tests/cli/jobs.sh
needs_digits

# program NAME EDIT: examples/NAME.c, edited, compiled and run; its output is in NAME.out.
program() {
    sed 's/global_batch_size/take: 9984, &/; s/%\.4f/%.9g/; '"$2" "examples/$1.c" >"$TEST_DIR/$1.c"
    compile "$TEST_DIR/$1.c" "$TEST_DIR/$1" || exit 1
    "$TEST_DIR/$1" >"$TEST_DIR/$1.out" || echo "$1: exit $?"
}
job() {
    "$DTRAIN" fit "configs/$1.yaml" dataset.take=9984 "output.dir=$TEST_DIR/$1" --json --every-step >"$TEST_DIR/$1.json" || echo "$1: exit $?"
}
same() {
    near "$2" "$3" 1e-5 || echo "$1: $2 in C, $3 as a job"
}

# fit in C and fit of a job: the last epoch's loss and accuracy.
program mirrored_mlp 's/.*printf("accuracy.*/&\n    printf("loss %.9g\\n", dt_history_last(history, "loss"));/'
job mirrored-mlp
for name in loss accuracy; do
    same "mirrored, $name" "$(sed -n "s/^$name //p" "$TEST_DIR/mirrored_mlp.out")" "$(value $name "$TEST_DIR/mirrored-mlp/history.jsonl")"
done

# A loop of one's own: the loss of each epoch's last batch, 39 batches an epoch.
program tpu_loop ''
job tpu-loop
for epoch in 1 2 3 4 5; do
    grep "\"event\":\"step\",\"step\":$((39 * epoch))," "$TEST_DIR/tpu-loop.json" >"$TEST_DIR/step"
    same "tpu, epoch $epoch" "$(sed -n "${epoch}s/^loss \([^ ]*\) .*/\1/p" "$TEST_DIR/tpu_loop.out")" "$(value loss "$TEST_DIR/step")"
done
