#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The spatial CNN on small pictures: each core of a slice holds a tile of them. Its program exchanges borders of tiles, adds up a number per channel for
# batch normalisation, and gathers nothing that divides; training with the chip's numbers, which adds up what the tiles give, follows the losses of the
# same model in one piece, however it is cut.
. tests/cli/setup.sh
job=configs/spatial-cnn.yaml
data='dataset={format: synthetic, examples: 64, element: {image: {shape: [64, 64, 3]}, label: {num_classes: 4}}, validation_split: 0.25, global_batch_size: 8}'
small() {
    verb=$1
    shift
    "$DTRAIN" "$verb" $job "$data" 'model.layers.0.Input.shape=[64, 64, 3]' \
        'model.layers.1.Repeat.for={i: [0, 1, 2, 3], filters: [8, 16, 24, 32]}' 'compile.optimizer={SGD: {learning_rate: 0.02, momentum: 0.9}}' \
        checkpoint= fit.epochs=2 "$@"
}

# The collectives of the step, without what they cost and whom they join; how often everything was computed by everybody.
collectives() {
    small lower "$@" >"$TEST_DIR/program"
    sed -n 's/^ *%[0-9]* = \(all_[a-z]*\|reduce_scatter\|collective_permute\)([^)]*)\([^:]*\): \([^ ]*\) .*/\1\2: \3/p' "$TEST_DIR/program" |
        sed 's/ over {[0-9,]*}//; s/  */ /g'
    echo "replicated: $(grep -c 'replicated, then computed' "$TEST_DIR/program")"
}
echo "== program"
collectives
echo "== rows alone"
collectives 'partition.image={split: [1, 8, 1, 1]}'

# Lines of "epoch loss val_loss"; the same: to one part in a thousand.
curve() {
    small fit output.dir="$TEST_DIR/run" --fresh --json "$@" >"$TEST_DIR/json" 2>"$TEST_DIR/err" || cat "$TEST_DIR/err"
    sed -n 's/.*"event":"epoch","epoch":\([0-9]*\).*"loss":\([0-9.]*\).*"val_loss":\([0-9.]*\).*/\1 \2 \3/p' "$TEST_DIR/json"
}
same() {
    name=$1
    shift
    curve "$@" | paste "$TEST_DIR/whole" - | awk -v name="$name" '
        function far(a, b) { return a - b > 0.001 * a || b - a > 0.001 * a }
        $1 != $4 || far($2, $5) || far($3, $6) { print name ": not " $0; differs = 1 }
        END { if (!differs) print name ": " NR " epochs the same" }'
}
chip='strategy.cluster_resolver={tpu: sim:v3-8, numerics: chip}'
curve 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8, numerics: chip}}' >"$TEST_DIR/whole"
echo "== curves"
for split in '[1, 2, 4, 1]' '[1, 8, 1, 1]' '[2, 2, 2, 1]'; do
    same "$split" strategy.cluster_resolver.numerics=chip "partition.image={split: $split}"
done
slice='strategy.cluster_resolver={tpu: sim:v3-8}'
same 'two cores of a chip' "$chip" 'strategy.device_assignment={computation_shape: [1, 1, 1, 2], num_replicas: 1}' 'partition.image={split: [1, 2, 1, 1]}'
same 'four replicas of two cores' "$chip" 'strategy.device_assignment={computation_shape: [1, 1, 1, 2], num_replicas: 4}' \
    'partition.image={split: [1, 1, 2, 1]}'
# A block that is deeper than the slice.
small validate "$slice" 2>&1 | sed -n '1,5p'
