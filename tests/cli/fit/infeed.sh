#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The clock of a simulated slice: a step takes as long as its batch travels from the host, where the devices are quicker; the time spent waiting for data is printed.
. tests/cli/setup.sh
write_tiny

# run WORDS...: the program's step and its infeed as planned, the clock of every step, of all of them; seconds.
run() {
    set -- "$tiny" 'strategy={type: tpu, cluster_resolver: {tpu: sim:v5e-8}}' "$@"
    "$DTRAIN" plan "$@" --json >"$TEST_DIR/plan"
    "$DTRAIN" fit "$@" --json --every-step --fresh output.dir="$TEST_DIR/run" >"$TEST_DIR/out"
    step=$(sed -n 's/.*"virtual_ms":\([0-9.e-]*\)}/\1/p' "$TEST_DIR/out" | head -n 1)
    n=$(grep -c '"event":"step"' "$TEST_DIR/out")
    infeed=$(sed -n 's/.*"infeed_s": *\([0-9.e-]*\).*/\1/p' "$TEST_DIR/plan" | head -n 1)
    idle=$(sed -n 's/.*"event":"epoch".*"idle":\([0-9.e-]*\)}/\1/p' "$TEST_DIR/out" | head -n 1)
    all=$(sed -n 's/.*"event":"end".*"virtual_s":\([0-9.e-]*\)}/\1/p' "$TEST_DIR/out")
    awk -v step="$step" -v n="$n" -v infeed="$infeed" -v idle="$idle" -v all="$all" 'BEGIN {
        print n " steps, " (1e3 * infeed > step - 6e-4 ? "as long as a batch travels" : "longer than a batch travels") (idle > 0.1 ? ", devices wait" : "")
        off = (all - n * step / 1e3) / n
        if (all == "" || off > 6e-7 || off < -6e-7) print "all of them: " all ", a step: " step
        if (idle == "" || idle < 0 || idle >= 1) print "idle: " idle }'
}
wide='dataset={format: synthetic, examples: 2048, element: {image: {shape: [4096]}, label: {num_classes: 3}}, global_batch_size: 512}'
run | sed 's/, devices wait//'
run "$wide" 'model.layers.0.Input.shape=[4096]' model.layers.1.Dense.units=1
# The smaller last batch takes as long as one of that size, also when links are slow.
uneven='dataset={format: synthetic, examples: 1088, element: {image: {shape: [4096]}, label: {num_classes: 3}}, global_batch_size: 512}'
for inject in '' --inject=slow-link:x=0,y=0@step=1*5000; do
    for batch in 512 64; do
        "$DTRAIN" fit "$tiny" "$uneven" 'strategy={type: tpu, cluster_resolver: {tpu: sim:v5e-8}}' 'model.layers.0.Input.shape=[4096]' \
            model.layers.1.Dense.units=1 fit.epochs=1 dataset.global_batch_size=$batch checkpoint= --json --every-step --fresh output.dir="$TEST_DIR/run" ${inject:+"$inject"} >"$TEST_DIR/$batch"
    done
    sed -n 's/.*"event":"step".*"virtual_ms":\([0-9.e-]*\)}/\1/p' "$TEST_DIR/512" >"$TEST_DIR/steps"
    small=$(sed -n 's/.*"event":"step".*"virtual_ms":\([0-9.e-]*\)}/\1/p' "$TEST_DIR/64" | head -n 1)
    all=$(sed -n 's/.*"event":"end".*"virtual_s":\([0-9.e-]*\)}/\1/p' "$TEST_DIR/512")
    awk -v small="$small" -v all="$all" '{ sum += $1; step[NR] = $1 }
        END { print NR " steps; the last", (step[3] == small && step[3] < step[2] ? "as a batch of its size" : "not: " step[3]), "; all",
              (1e3 * all - sum < 1e-3 && sum - 1e3 * all < 1e-3 ? "together" : all) }' "$TEST_DIR/steps"
done
"$DTRAIN" fit "$tiny" "$wide" 'strategy={type: tpu, cluster_resolver: {tpu: sim:v5e-8}}' 'model.layers.0.Input.shape=[4096]' model.layers.1.Dense.units=1 fit.epochs=1 \
    checkpoint= --fresh output.dir="$TEST_DIR/run" | sed -n 's/^epoch.*idle [0-9]* %/idle N %/p'
