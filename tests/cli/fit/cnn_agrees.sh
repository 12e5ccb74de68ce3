#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A CNN with two BatchNormalizations, 13 steps: losses and metrics within 1e-5 on threads, libraries, strict, replicas and workers. tests/cli/pjrt/jobs.sh adds XLA.
# check-fast: exec net strategy
. tests/cli/setup.sh
. tests/cli/jobs.sh
# shellcheck source=/dev/null
. tests/cli/pjrt.inc
needs_digits
conv() { echo "{Conv2D: {filters: $1, kernel_size: 3, strides: 2}}, {BatchNormalization: {synchronized: true}}, ReLU"; }
trained() {
    name=$1
    shift
    timeout -k 3 100 "$DTRAIN" fit configs/quickstart.yaml -q 'strategy={type: default}' seed=7 dataset.take=620 dataset.shuffle=false dataset.global_batch_size=50 fit.epochs=1 \
        'compile.optimizer={SGD: {learning_rate: 0.05, momentum: 0.9}}' \
        "model.layers=[{Input: {name: image, shape: [28, 28]}}, {Reshape: {target_shape: [28, 28, 1]}}, $(conv 8), $(conv 16), Flatten, {Dense: {units: 10}}]" \
        "$@" output.dir="$TEST_DIR/$name" || echo "$name: exit $?"
    [ "$name" = one ] || same_history "$TEST_DIR/one" "$TEST_DIR/$name" 1e-5
}
trained one
trained threads --threads 1
trained libraries 'reproducible={strict: false}'
trained openblas --kernels openblas
trained strict 'reproducible={strict: true}'
trained replicas 'strategy={type: mirrored, replicas: 3}'
trained workers --workers 3 'strategy={type: multi_worker_mirrored}'
