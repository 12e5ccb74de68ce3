#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Classes of rows to evaluate are compared with those of the job's training data, as those of its own parts are: a class that is missing, or twice as frequent. Without training data there is nothing to compare.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
rows() { # one of n is a lily
    awk -v n="$1" 'BEGIN { print "a,kind"; for (i = 0; i < 200; i++) print i % 7 "," (i % n ? "iris" : "lily") }'
}
rows 2 >train.csv
rows 8 >fewer.csv
rows 3 >alike.csv
sed 's/lily/iris/' fewer.csv >only.csv
sed '2,20s/iris/rose/' alike.csv >rose.csv
job() { # vocabulary, units
    cat <<END
version: 1
seed: 3
dataset: {format: csv, train: train.csv, test: fewer.csv, element: {x: {columns: [a]}, kind: {column: kind, vocabulary: [$1]}}, global_batch_size: 20}
model: {layers: [Input: {name: x, shape: [1]}, Dense: {units: $2, activation: softmax}]}
compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}
fit: {epochs: 1}
output: {dir: run}
END
}
warnings() { { "$DTRAIN" evaluate "$@" >/dev/null; } 2>&1; }
job 'iris, lily' 2 >job.yaml
"$DTRAIN" fit job.yaml -q || exit 1
warnings job.yaml --split test
"$DTRAIN" data convert job.yaml --split test -o fewer.npz -q
for file in fewer.csv fewer.npz alike.csv only.csv; do
    echo "-- $file"
    warnings job.yaml --input $file
done

echo '-- a class that training lacks'
rm -rf run
job 'iris, lily, rose' 3 >three.yaml
"$DTRAIN" fit three.yaml -q || exit 1
warnings three.yaml --input rose.csv

echo '-- no training data, or other data'
mv train.csv gone.csv
warnings three.yaml --input rose.csv
printf 'a,other\n1,2\n' >train.csv
warnings three.yaml --input rose.csv

echo '-- training data with a damaged record'
rm -rf run
rows 2 >train.csv
"$DTRAIN" data convert job.yaml -o train.tfrecord -q
sed 's/csv, train: train.csv, test: fewer.csv, element: .*}}, /tfrecord, train: train.tfrecord, element: {x: {dtype: float32, shape: [1]}, kind: {dtype: int64}}, /' \
    job.yaml >records.yaml
"$DTRAIN" fit records.yaml -q || exit 1
warnings records.yaml --input fewer.npz
printf X | dd of=train.tfrecord bs=1 seek=40 conv=notrunc 2>dd.err
warnings records.yaml --input fewer.npz && echo evaluated
exit 0
