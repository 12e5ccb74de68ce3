#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program in C and its job file end with the same loss to 1e-5. The programs are those of examples/, with more digits printed; the first with 9,984
# examples, which its global batch divides, the other on 1, 2 and 8 replicas as it is, with a last batch of 16 rows.
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the numbers are those of the plain build; programs.sh and job/examples_test run this code under sanitizers" && exit 77; fi
needs_digits

# program NAME EDIT: examples/NAME.c, edited, compiled and run; its output is in NAME.out.
program() {
    sed "$2" "examples/$1.c" >"$TEST_DIR/$1.c"
    compile "$TEST_DIR/$1.c" "$TEST_DIR/$1" || exit 1
}
# job NAME WORDS...
job() {
    name=$1
    shift
    "$DTRAIN" fit "configs/$name.yaml" "$@" "output.dir=$TEST_DIR/$name" -q || echo "$name: exit $?"
}
same() {
    near "$2" "$3" 1e-5 || echo "$1: $2 in C, $3 as a job"
}

# fit in C and fit of a job: the last epoch's loss and accuracy.
program mirrored_mlp 's/global_batch_size/take: 9984, &/; s/%\.4f/%.9g/; s/.*printf("accuracy.*/&\n    printf("loss %.9g\\n", dt_history_last(history, "loss"));/'
"$TEST_DIR/mirrored_mlp" >"$TEST_DIR/mirrored_mlp.out" || echo "mirrored_mlp: exit $?"
job mirrored-mlp dataset.take=9984
for name in loss accuracy; do
    same "mirrored, $name" "$(sed -n "s/^$name //p" "$TEST_DIR/mirrored_mlp.out")" "$(value $name "$TEST_DIR/mirrored-mlp/history.jsonl")"
done

# A loop of one's own: the loss of each epoch.
program tpu_loop 's/%\.6f/%.9g/; s/epoch < 5/epoch < 2/'
job tpu-loop fit.epochs=2
for slice in sim:v5litepod-1 sim:v2-2 sim:v3-8; do
    "$TEST_DIR/tpu_loop" $slice >"$TEST_DIR/tpu_loop.out" || echo "tpu_loop $slice: exit $?"
    for epoch in 1 2; do
        sed -n "${epoch}p" "$TEST_DIR/tpu-loop/history.jsonl" >"$TEST_DIR/epoch"
        same "$slice, epoch $epoch" "$(sed -n "${epoch}s/^loss \([^ ]*\) .*/\1/p" "$TEST_DIR/tpu_loop.out")" "$(value loss "$TEST_DIR/epoch")"
    done
done
