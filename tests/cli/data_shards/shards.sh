#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which worker reads what: by file, by element because there are too few files, everything; and policies that cannot be followed.
. tests/cli/setup.sh
i=0
echo x >"$TEST_DIR/all.csv"
while [ $i -lt 11 ]; do echo $i; i=$((i + 1)); done >>"$TEST_DIR/all.csv"
show data convert "$TEST_DIR/all.csv" -o "$TEST_DIR/part.csv" --shards 3
cat "$TEST_DIR"/part-00001-of-00003.csv
show data shards "$TEST_DIR"/part-*.csv --workers 2
show data shards "$TEST_DIR"/part-*.csv --workers 4
show data shards "$TEST_DIR"/part-*.csv --workers 4 --policy file
show data shards "$TEST_DIR"/part-*.csv --workers 2 --policy off --json
show data shards "$TEST_DIR"/part-*.csv --workers 2 --policy hint
show data shards tests/golden/data/stored.npz --workers 2 --policy file
# a job's training part as `fit` says it of the same job: of some of the examples, and over and over
cat >"$TEST_DIR/parts.yaml" <<END
version: 1
strategy: {type: multi_worker_mirrored, workers: 2}
dataset: {format: csv, train: '$TEST_DIR/part-*.csv', element: {x: {columns: [x]}, y: {column: x}}, global_batch_size: 2}
model: {type: sequential, layers: [Input: {name: x, shape: [1]}, Dense: {units: 1}]}
compile: {optimizer: SGD, loss: MeanSquaredError}
fit: {epochs: 1}
output: {dir: '$TEST_DIR/run'}
END
for words in dataset.validation_split=0.5 'dataset.take=3 dataset.auto_shard_policy=file' dataset.repeat=2; do
    # shellcheck disable=SC2086 # words
    "$DTRAIN" fit "$TEST_DIR/parts.yaml" $words --fresh | grep -o 'sharded by.*'
    # shellcheck disable=SC2086
    show data shards "$TEST_DIR/parts.yaml" $words --workers 2
done
show data shards "$TEST_DIR/parts.yaml" dataset.validation_split=0.5 --workers 2 --split validation
# without --workers, the workers are those that fit would have
show data shards "$TEST_DIR/parts.yaml" strategy.workers=3 dataset.auto_shard_policy=file dataset.global_batch_size=3
write_tiny
show data shards "$tiny"
show data shards "$tiny" --workers 3
show data shards "$tiny" --workers 0
