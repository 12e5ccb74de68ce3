#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# configs/char-gpt.yaml made small, on its slice: four replicas cut over two cores each, by heads and by features of the second half of a block. Weights
# are those of the same model in one piece, bit for bit; in the chip's precision, the parts' sums follow those of one core. Sums go
# out by all_reduce alone, and what a core keeps is half of what is cut.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_text
small() {
    verb=$1
    shift
    small_gpt "$verb" compile.optimizer.AdamW.learning_rate=0.01 'fit.callbacks=[]' fit.steps=20 fit.validation_freq=10 "$@"
}
losses() {
    name=$1
    shift
    small fit --json --every-step --fresh output.dir="$TEST_DIR/$name" "$@" >"$TEST_DIR/$name.json" 2>/dev/null
    sed -n 's/.*"event":"step".*"step":\([0-9]*\).*"loss":\([0-9.]*\).*/\1 \2/p' "$TEST_DIR/$name.json" >"$TEST_DIR/$name.losses"
}
losses exact-cut
losses exact-whole 'strategy={type: mirrored, replicas: 1}'
cmp "$TEST_DIR/exact-cut.losses" "$TEST_DIR/exact-whole.losses"
[ "$(weights "$TEST_DIR/exact-cut.json")" = "$(weights "$TEST_DIR/exact-whole.json")" ] || echo "other weights"
losses cut strategy.cluster_resolver.numerics=chip
losses whole 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8, numerics: chip}}'
cmp -s "$TEST_DIR/exact-whole.losses" "$TEST_DIR/whole.losses" && echo "the chip's products are exact ones"
paste -d ' ' "$TEST_DIR/cut.losses" "$TEST_DIR/whole.losses" | awk '
    { d = $2 - $4; if ($1 != $3 || d > 4e-3 || d < -4e-3) print "step " $0; first = first ? first : $4; last = $4 }
    END { print NR " steps" (last < 0.75 * first ? ", the loss falls by a quarter and more" : ", " first " to " last) }'
small lower >"$TEST_DIR/program"
sed -n 's/^ *%[0-9]* = \(all_[a-z]*\|reduce_scatter\|collective_permute\)(.*/\1/p' "$TEST_DIR/program" | sort -u
grep 'variable decoder_0.*kernel' "$TEST_DIR/program" | sed 's/^ *%[0-9]* = //; s/  */ /g'
