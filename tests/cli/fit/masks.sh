#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Text classification with masked padding: the same weights on any number of replicas, and the same predictions however long the padding is.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit
awk 'BEGIN {
    split("good great fine lovely", up); split("bad awful poor sad", down); split("the film a story this plot acting it", any)
    print "review,label"
    for (i = 0; i < 120; i++) {
        label = i % 2; text = label ? up[1 + i % 4] : down[1 + i % 4]
        for (k = 0; k < i % 5; k++)
            text = text " " any[1 + (i * 11 + k) % 8]
        print text "," label
    }
}' >reviews.csv
cat >job.yaml <<'END'
version: 1
name: reviews
let: {length: 6}
strategy: {type: mirrored}
dataset:
  format: csv
  train: reviews.csv
  validation_split: 0.25
  element:
    review: {column: review, dtype: string}
    label:  {column: label, dtype: int32}
  map: {review: [text_vectorization: {output_sequence_length: "{length}"}]}
  shuffle: true
  global_batch_size: 16
model:
  layers:
    - Input: {name: review, shape: ["{length}"], dtype: int32}
    - Embedding: {input_dim: 32, output_dim: 8, mask_zero: true}
    - Dropout: {rate: 0.2}
    - Bidirectional: {layer: {GRU: {units: 4, return_sequences: true}}}
    - GlobalAveragePooling1D
    - Dense: {name: logits, units: 2}
compile: {optimizer: {Adam: {learning_rate: 0.05}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 3}
output: {dir: run}
END
"$DTRAIN" fit job.yaml strategy.replicas=2 --expect 'val_accuracy>=0.9' >log 2>&1 || { echo "exit $?"; cat log; }
sha() { sed -n 's/.*weights sha //p' "$1"; }
"$DTRAIN" fit job.yaml strategy.replicas=1 output.dir=one >one.log 2>&1
"$DTRAIN" fit job.yaml 'strategy={type: tpu, cluster_resolver: {tpu: sim:v2-8}}' output.dir=tpu >tpu.log 2>&1
[ -n "$(sha log)" ] && [ "$(sha log)" = "$(sha one.log)" ] && [ "$(sha log)" = "$(sha tpu.log)" ] || echo "other weights: $(sha log) $(sha one.log) $(sha tpu.log)"
printf 'review\ngreat\n"sad, the story"\n' >asked.csv
"$DTRAIN" predict job.yaml --input asked.csv -o short.csv -q
"$DTRAIN" predict job.yaml let.length=11 --input asked.csv -o long.csv -q
cmp short.csv long.csv
awk -F, 'NR > 1 { print ($2 > $1 ? "up" : "down") }' short.csv
"$DTRAIN" fit job.yaml compile.precision=mixed_bfloat16 output.dir=narrow --expect 'val_accuracy>=0.9' >narrow.log 2>&1 || cat narrow.log
"$DTRAIN" plan job.yaml --tpu v2-8 >plan.log 2>&1 || cat plan.log
"$DTRAIN" lower job.yaml --stage stablehlo >lower.log 2>&1 || cat lower.log
"$DTRAIN" export job.yaml --to onnx --without-map -o model.onnx -q

echo "a table smaller than the vocabulary"
show validate job.yaml model.layers.1.Embedding.input_dim=13
echo "rare words weigh more"
"$DTRAIN" fit job.yaml let.length=20 'dataset.map={review: [text_vectorization: {output_mode: tf_idf, max_tokens: "{length}", pad_to_max_tokens: true}]}' \
    'model.layers=[{Input: {name: review, shape: ["{length}"]}}, {Dense: {name: logits, units: 2}}]' output.dir=rare --expect 'val_accuracy>=0.9' >rare.log 2>&1 || cat rare.log

echo "a text of nothing has no mean: the message names it, and blames no learning rate"
awk 'NR == 30 { print "\"\",1" } { print }' reviews.csv >empty.csv
show fit job.yaml dataset.train=empty.csv dataset.shuffle=false dataset.global_batch_size=8 output.dir=empty -q \
    'model.layers=[{Input: {name: review, shape: [6], dtype: int32}}, {Embedding: {input_dim: 32, output_dim: 8, mask_zero: true}}, GlobalAveragePooling1D, {Dense: {units: 2}}]'
show fit job.yaml output.dir=first -q \
    'model.layers=[{Input: {name: review, shape: [6], dtype: int32}}, {Embedding: {input_dim: 32, output_dim: 8}}, {Rescaling: {scale: 1e39}}, Flatten, {Dense: {units: 2}}]'
