#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Injected faults: each has the effect of a real one, and the same command without it resumes and ends with the
# undisturbed run's weights.
. tests/cli/setup.sh
write_tiny
slice='strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}'
tiny() {
    "$DTRAIN" fit "$tiny" "$slice" checkpoint.save_freq=3 "output.dir=$TEST_DIR/run" "$@"
}

sizes() { # what is priced changes with what is known of chips
    hide | sed 's/[0-9][0-9.]* \([KMG]i\)\{0,1\}B/N/g; s/in [a-z]*: weights/in LAYER: weights/'
}

tiny --json >"$TEST_DIR/whole" 2>"$TEST_DIR/err"
for fault in kill:core=0@step=1 kill:core=5@step=8 kill:core=7@step=12 nan@step=1 nan@step=7 nan@step=12 'slow-link:x=1,y=1@step=2*3' hbm=400; do
    rm -rf "$TEST_DIR/run"
    echo "== $fault"
    tiny --inject "$fault" >"$TEST_DIR/out" 2>"$TEST_DIR/err" && status=0 || status=$?
    sizes <"$TEST_DIR/err"
    echo "exit $status"
    tiny --json >"$TEST_DIR/again" 2>"$TEST_DIR/err"
    [ "$(weights "$TEST_DIR/again")" = "$(weights "$TEST_DIR/whole")" ] || echo "the run that went on ends with other weights"
done

echo "== two of them, and events"
rm -rf "$TEST_DIR/run"
tiny --json --every-step --inject 'slow-link:x=0,y=1,z=0@step=3*100000' --inject kill:core=2@step=5 2>/dev/null >"$TEST_DIR/out"
sed -n 's/.*"event":"\(fault\|error\|end\)"/\1/p' "$TEST_DIR/out" | sed 's/,"message.*//' | hide
sed -n 's/.*"event":"step".*"virtual_ms":\([0-9.]*\)}/\1/p' "$TEST_DIR/out" |
    awk 'NR == 1 { first = $1 } $1 > 1.5 * first { slow++ } END { print NR " steps, " slow + 0 " of them slow" }'

echo "== beyond the run, or anywhere"
rm -rf "$TEST_DIR/run"
tiny -q --inject kill:core=2@step=99 2>&1 | hide
rm -rf "$TEST_DIR/run"
"$DTRAIN" fit "$tiny" -q --inject nan@step=2 2>&1 | hide
"$DTRAIN" fit "$tiny" -q --inject hbm=1GiB 2>&1 | hide

echo "== what does not fit"
wide() {
    "$DTRAIN" fit "$tiny" "$slice" -nq dataset.examples=4096 dataset.element.image.shape='[64]' model.layers.0.Input.shape='[64]' \
        model.layers.1.Dense.units=1024 compile.optimizer=Adam "$@" 2>&1
}
used=$(wide dataset.global_batch_size=2048 --inject hbm=64KiB | sed -n 's/.*used \([0-9.]*\) MiB.*/\1/p')
ceiling=hbm=$(awk "BEGIN { print 0.95 * $used }")MiB
wide dataset.global_batch_size=2048 --inject "$ceiling" >"$TEST_DIR/wide"
sizes <"$TEST_DIR/wide" | head -n 2
wide --inject "$ceiling" "dataset.global_batch_size=$(sed -n 's/.*global batch of \([0-9]*\) .*/\1/p' "$TEST_DIR/wide")"
wide --inject "$ceiling" dataset.global_batch_size=2048 "$(sed -n 's/ *\(partition\): \(.*\) would fit/\1=\2/p' "$TEST_DIR/wide")"

deep() {
    "$DTRAIN" fit - -nq --inject hbm=5MiB "$@" 2>&1 <<'END'
version: 1
strategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8}}
dataset: {format: synthetic, examples: 8192, element: {image: {shape: [32]}, label: {num_classes: 4}}, global_batch_size: 8192}
model:
  layers:
    - Input: {name: image, shape: [32]}
    - Repeat: {for: {i: [0, 1, 2, 3, 4, 5, 6, 7]}, layers: [{Dense: {name: "a_{i}", units: 64}}, {Dense: {name: "b_{i}", units: 64, activation: gelu}}]}
    - Dense: {units: 4}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
}
deep >"$TEST_DIR/deep"
grep -c 'rematerialize: full} would fit' "$TEST_DIR/deep"
deep "$(sed -n 's/ *\(model\): {\(.*\): \(.*\)} would fit/\1.\2=\3/p' "$TEST_DIR/deep")" && echo "made again, it fits"

echo "== words"
for fault in kil:core=5@step=8 kill:core=8@step=1 kill:cor=1 kill:core=1,core=2@step=1 kill@step=3 nan@step=0 nan@step=7x hbm=8Gi hbm '' \
    'slow-link:x=1@step=2*3' 'slow-link:x=1,y=5@step=2*3' 'slow-link:x=1,y=1@step=2' 'slow-link:x=1,y=1@step=2*0' nan@step=99999999999999999999; do
    tiny --inject "$fault" 2>&1 | head -n 2
done
exits 64 fit "$tiny" --inject frob
