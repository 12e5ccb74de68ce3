#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `partition`: valid ones, and the errors of others with place and suggestion; several faults at once; nothing is trained.
. tests/cli/setup.sh
attention=tests/jobs/attention.yaml spatial=tests/jobs/spatial.yaml

# good JOB, then lines of overrides, each line valid; bad JOB, then lines of overrides, each line shown. They are parted by ';'.
good() {
    while IFS= read -r line; do
        IFS=';'
        # shellcheck disable=SC2086
        set -- "$1" $line
        unset IFS
        exits 0 validate "$@"
        set -- "$1"
    done
}
bad() {
    while IFS= read -r line; do
        IFS=';'
        # shellcheck disable=SC2086
        set -- "$1" $line
        unset IFS
        show validate "$@"
        set -- "$1"
    done
}

good $attention <<'END'
partition.steps={split: [1, 2, 1]}
partition.steps={split: [1, 1, 2]}
partition.steps={split: [2, 1, 1]}
partition.steps={replicate: true}
partition.label={split: [2]}
partition.self_attention={split: [1, 1, 2]}
partition.flatten={split: [1, 2]}
partition.logits=
partition.weights=
partition.weights=[{match: self_attention/query/kernel, split: [2, 1, 1]}]
partition.weights=[{match: "*/kernel", replicate: true}, {match: "*", replicate: true}]
partition.over_replicas=none
partition.over_replicas=optimizer
partition.over_replicas=weights
partition.micro_batches=1
strategy.spmd_partitioning=false;partition.logits={assign: 1};partition.steps=
strategy.device_assignment=;partition.steps={split: [7, 7]};partition.micro_batches=4
strategy={type: mirrored, replicas: 1};partition.over_replicas=weights
END
good $spatial <<'END'
partition.image={split: [1, 8, 1, 1]}
partition.conv_0={split: [1, 2, 4, 1]}
partition.conv_1={split: [1, 1, 1, 8]}
partition.conv_1={split: [2, 2, 2, 1]}
END

export TEXT="$TEST_DIR/text"
for i in $(seq 500); do echo "to be or not to be, that is question $i"; done >"$TEXT"
good tests/jobs/gpt.yaml <<'END'
partition.decoder_0={split: [1, 2, 1]}
partition.decoder_1/self_attention/query={split: [1, 1, 2, 1]};partition.decoder_0/self_attention=replicate
partition.embed/token_embedding={split: [1, 1, 2]}
END

bad $attention <<'END'
partition.step=replicate
partition.self_attention/quary=replicate
partition.steps={split: [1, 2]}
partition.steps={split: [1, 4, 1]}
partition.self_attention={split: [1, 1, 2]};partition.logits={split: [1, 2]}
partition.label={split: [2, 1]}
partition.steps={assign: 0};partition.logits={assign: 7}
partition.label=
partition.weights.0.match="*/quary/kernel"
partition.weights.0.match="*/{query,key/kernel"
partition.weights.0.split=[2, 2, 1]
partition.weights.1.split=[1, 2, 1];partition.weights.2.split=[1, 1, 4]
partition.weights.2={match: "*/attention_output/kernel", split: [2, 1, 1], replicate: true}
partition.weights=[{match: logits/bias, split: [2]}]
partition.micro_batches=3
strategy.spmd_partitioning=false;partition.logits={assign: 2}
END
bad tests/jobs/gpt.yaml <<'END'
partition.decoder_0/self_atention=replicate
partition.decoder_0/attention=replicate
partition.decoder_2=replicate
partition.decoder_0/self_attention/query={split: [1, 2, 1]};partition.decoder_1/feedforward_intermediate_dense={split: [1, 1, 1]}
partition.weights.6={match: "embed/*", split: [2, 1]}
END
bad $spatial <<'END'
partition.image={split: [1, 2, 2, 1]}
partition.image={split: [1, 1, 1, 8]}
partition.conv_0={split: [1, 2, 4, 1]};partition.conv_1={split: [3, 2, 4, 1]};partition.logits={split: [1, 8]}
dataset.global_batch_size=30;partition.image={split: [4, 2, 1, 1]}
partition={image: {split: [1, 2, 2, 1]}, weights: [{match: conv, replicate: true}]};--format;json
END
awk '/^partition:/ { skip = 1; next } /^[a-z]/ { skip = 0 } !skip' $attention >"$TEST_DIR/without.yaml"
show validate "$TEST_DIR/without.yaml"

# The documented partition on a slice that is too flat for it, with two more mistakes; on the slice that the message names it is right.
awk '/^  label:/ || /^  logits:/ { next } 1' $spatial |
    sed 's/\[2, 2, 1, 2\]/[1, 2, 2, 2]/; s/^  layers:/  layesr:/' >"$TEST_DIR/flat.yaml"
show validate "$TEST_DIR/flat.yaml"
sed 's/layesr/layers/' "$TEST_DIR/flat.yaml" >"$TEST_DIR/deep.yaml"
exits 0 validate "$TEST_DIR/deep.yaml" partition.label=replicate 'strategy.cluster_resolver={tpu: sim:v4-16, cores_per_chip: 2}'
exits 78 validate $spatial 'strategy.cluster_resolver={tpu: sim:v4-16}'
for cores in 1 2; do
    "$DTRAIN" topology $spatial strategy.device_assignment= "strategy.cluster_resolver={tpu: sim:v4-16, cores_per_chip: $cores}" | head -n 1
done
show validate $spatial 'strategy.cluster_resolver={tpu: sim:v3-8, cores_per_chip: 1}'
show validate $spatial 'strategy.device_assignment={computation_shape: [4, 4, 1, 2]}'

# Images cut by rows and columns: what each device has, and the halos; where windows no longer divide.
show validate $spatial
show validate --no-data configs/spatial-cnn.yaml
show validate $spatial 'partition.image={split: [1, 8, 1, 1]}' 'model.layers.1.Repeat.layers.0.Conv2D.kernel_size=5' 'model.layers.1.Repeat.layers.0.Conv2D.strides=4'
exits 0 validate --json $spatial
cat "$TEST_DIR/out"
