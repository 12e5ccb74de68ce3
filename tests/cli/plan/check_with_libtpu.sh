#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The compiler's column: a plug-in that makes its numbers up. A plug-in that cannot be used is named with the reason.
fake=$BUILD/tests/pjrt/fake_plugin.so
case $fake in /*) ;; *) fake=$PWD/$fake ;; esac
[ -f "$fake" ] || { echo "no fake plug-in: 'make tests' builds it"; exit 77; }
cd "$TEST_DIR" || exit 1
cat >job.yaml <<'END'
version: 1
name: mlp
seed: 1
strategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8}}
dataset: {format: synthetic, examples: 64, element: {image: {shape: [16]}, label: {num_classes: 10}}, global_batch_size: 64}
model: {type: sequential, layers: [Input: {name: image, shape: [16]}, Dense: {units: 10}]}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
show() {
    echo "\$ dtrain plan $*"
    "$DTRAIN" plan "$@" --check-with-libtpu "$fake" 2>&1
}
show job.yaml | sed -n '/^\$/p;s/compiled the training step in .*/compiled/;/^compared with/p' | cut -c1-60
"$DTRAIN" plan job.yaml --check-with-libtpu "$fake" | sed -n '/^compared with/,$p' | sed '1,2d;/^loops/!{/^kernels that/!s/^\(.\{26\}\).\{16\}\(.\{1,16\}\).*/\1\2/;};s/ *$//'
"$DTRAIN" plan job.yaml --json --check-with-libtpu "$fake" | sed 's/.*"compiled"/"compiled"/'
echo '$ dtrain plan job.yaml, reproducible and with 60 rows'
sed 's/^seed: 1/&\nreproducible: {shards: 8}/; s/global_batch_size: 64/global_batch_size: 60/' job.yaml >unequal.yaml
show unequal.yaml | sed -n '/^not in/p'
"$DTRAIN" plan unequal.yaml --json --check-with-libtpu "$fake" | grep -o '"left_out": [^]]*]'
# The compiler is given the dtypes of the job's policy, and lower prints them.
FAKE_PJRT=narrow show job.yaml compile.precision=mixed_bfloat16 | sed -n 's/^compared with.*/compared/p;/error:/p'
"$DTRAIN" lower job.yaml --stage stablehlo compile.precision=mixed_bfloat16 | grep -q 'dot_general.*bf16' || echo "lower prints float32"
FAKE_PJRT=refuse show job.yaml | sed 's|/.*/fake|FAKE|'
FAKE_PJRT=major show job.yaml | sed 's|/.*/fake|FAKE|'
