#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# evaluate says the same, to the last digit, whatever the global batch, the replicas and the threads; last partial batches, too. And of the training
# part it sees examples as they are: random steps of `map` draw nothing.
. tests/cli/setup.sh
write_tiny
sed -i 's/shape: \[8\]/shape: [6, 6, 3]/; s/examples: 60/examples: 2600/; s/validation_split: 0.2/validation_split: 0.45/; s/size: 8/size: 64/
    s/Dense: {units: 4, activation: relu}/Conv2D: {filters: 7, kernel_size: 3, activation: relu}\n    - BatchNormalization\n    - Flatten/' "$tiny"
exits 0 fit "$tiny" fit.epochs=1
digits() { # SPLIT WORDS...
    split=$1
    shift
    "$DTRAIN" evaluate "$tiny" --json --split "$split" "$@" | grep '"eval"' | grep -o '"\(loss\|accuracy\|examples\)":[^,}]*' | tr '\n' ' '
}
for split in validation train; do
    want=$(digits $split)
    [ -n "$want" ] || echo "nothing was evaluated"
    seed=$(date +%s)
    for batch in 1 7 64 999 1170 5000 $((seed % 1500 + 1)); do
        for replicas in 1 3; do
            got=$(digits $split dataset.global_batch_size=$batch strategy.replicas=$replicas --threads $((batch % 2 + 1)))
            [ "$got" = "$want" ] || echo "$split, batch $batch, $replicas replicas: $got, not $want"
        done
    done
    got=$(digits $split 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}')
    [ "$got" = "$want" ] || echo "$split on a slice: $got, not $want"
done
want=$(digits train 'dataset.map={image: [random_flip: horizontal]}')
[ "$want" = "$(digits train)" ] || echo "examples to be looked at are turned: $want"
