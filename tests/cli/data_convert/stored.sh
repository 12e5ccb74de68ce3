#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job's data in another format are examples as they are stored: the job reads them as its own, and `map` is done once.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit
printf 'stars,review,kind\r\n1.5,"bad, ""bad"" film",down\r\n4,good film,up\r\n3.25,a good story,up\r\n2,bad,down\r\n' >own.csv
cat >job.yaml <<'END'
version: 1
name: reviews
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: csv
  train: own.csv
  element:
    stars:  {columns: [stars]}
    review: {column: review, dtype: string}
    kind:   {column: kind, dtype: int32, vocabulary: [down, up]}
  map:
    stars:  [normalize]
    review: [text_vectorization: {output_sequence_length: 4}]
  global_batch_size: 2
model:
  type: functional
  layers:
    - Input: {name: review, shape: [4], dtype: int32}
    - Embedding: {input_dim: 16, output_dim: 4, mask_zero: true}
    - GlobalAveragePooling1D: {name: words}
    - Input: {name: stars, shape: [1]}
    - Concatenate: {inputs: [words, stars]}
    - Dense: {name: logits, units: 2}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
output: {dir: run}
END
"$DTRAIN" fit job.yaml -q
"$DTRAIN" predict job.yaml --input own.csv -o own.out.csv -q
show data convert job.yaml -o again.csv
cmp own.csv again.csv
show data convert job.yaml -o again.tfrecord
for file in again.csv again.tfrecord; do
    "$DTRAIN" predict job.yaml --input "$file" -o again.out.csv -q
    cmp own.out.csv again.out.csv
done
"$DTRAIN" evaluate job.yaml dataset.train=again.csv --split train -q >/dev/null || echo "exit $?"
show data convert job.yaml -o again.npz
show data convert job.yaml -o mapped.csv --mapped
head -n 1 mapped.csv
# a text that is all there is of an example, and empty
printf 'review\ngood film\n""\nbad\n' >one.csv
sed -e 's/own.csv/one.csv/; /stars/d; /kind:/d; /GlobalAverage/,/Concatenate/d; /MaskZero/d; s/mask_zero: true/mask_zero: true}\n    - LSTM: {units: 3/; /compile/,$d' job.yaml >one.yaml
"$DTRAIN" data convert one.yaml -o two.csv -q || echo "exit $?"
"$DTRAIN" data inspect two.csv | head -n 1
