#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Predictions name classes: by vocabulary, columns, learned words and folders, of logits and of a lone sigmoid; checkpoints and ONNX keep the names.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "a,b,kind,two,wet,dry,word"
    for (i = 0; i < 60; i++) { k = i % 3; split("iris|lily|\"rose, red\"", n, "|")
        printf "%d.%d,%d.%d,%s,%s,%d,%d,%s\n", k, i % 7, 2 - k, i % 5, n[k + 1], (k ? "yes" : "no"), (k < 2), (k > 0), (k ? "up" : "down") } }' >t.csv
cat >job.yaml <<'END2'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: csv
  train: t.csv
  validation_split: 0.2
  global_batch_size: 16
  element:
    x: {columns: [a, b]}
    kind: {column: kind, vocabulary: [iris, lily, "rose, red"]}
    two: {column: two, vocabulary: ["no", "yes"]}
    sky: {columns: [wet, dry]}
    word: {column: word, dtype: string}
    level: {column: a}
  map: {word: [string_lookup, one_hot: 3]}
model:
  type: functional
  layers:
    - Input: {name: x, shape: [2]}
    - Dense: {name: h, units: 8, activation: relu, inputs: [x]}
    - Dense: {name: kind, units: 3, inputs: [h]}
    - Dense: {name: two, units: 1, activation: sigmoid, inputs: [h]}
    - Dense: {name: sky, units: 2, inputs: [h]}
    - Dense: {name: word, units: 3, activation: softmax, inputs: [h]}
    - Dense: {name: level, units: 1, inputs: [h]}
  outputs: [kind, two, sky, word, level]
compile:
  optimizer: {Adam: {learning_rate: 0.05}}
  loss:
    kind: {SparseCategoricalCrossentropy: {from_logits: true}}
    two: BinaryCrossentropy
    sky: {BinaryCrossentropy: {from_logits: true}}
    word: CategoricalCrossentropy
    level: MeanSquaredError
fit: {epochs: 12}
output: {dir: run}
END2
"$DTRAIN" fit job.yaml -q || echo "exit $?"
rm t.csv
printf 'a,b\n0,2\n2,0\n' >in.csv
"$DTRAIN" predict job.yaml --input in.csv | sed 's/[0-9.e-]*[0-9]/N/g'
"$DTRAIN" predict job.yaml --input in.csv --top 1 | sed 's/[0-9]\.[0-9.e-]*/N/g'
"$DTRAIN" predict job.yaml --input in.csv --format jsonl | sed 's/[0-9]\.[0-9.e-]*[0-9]/N/g'
"$DTRAIN" predict job.yaml --input in.csv --format jsonl --top 1 | sed 's/[0-9]\.[0-9.e-]*[0-9]/N/g'
# probabilities of a row: each output's sum to 1, those of single labels do not
"$DTRAIN" predict job.yaml --input in.csv | awk -F, 'NR > 1 { print ($1 + $2 + $3 > 0.9999 && $1 + $2 + $3 < 1.0001), ($4 + $5 > 0.9999 && $4 + $5 < 1.0001) }'
# names of another model's classes are not taken for this one's: its weights say what is wrong
exits 65 predict job.yaml --input in.csv model.layers.2.Dense.units=2
sed -n "s/.*tensor '/'/p" err
# arrays hold what the model gives
"$DTRAIN" predict job.yaml --input in.csv -o y.npz -q
"$DTRAIN" ckpt inspect y.npz | sed -n 's/ float32 *\(([0-9, ]*)\).*/ \1/p' | tr -s ' '
"$DTRAIN" export job.yaml --without-map -o m.onnx -q && grep -aq '"two": \["no", "yes"\]' m.onnx && echo "names in ONNX"
# a folder of folders: predictions name their files
mkdir -p set/cat set/dog
echo iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGiAAAAFElEQVR4nGNkYGRkZGRhZGRkgRMAAVEAI9SIzDgAAAAASUVORK5CYII= | base64 -d >set/cat/1.png
cp set/cat/1.png 'set/dog/a, b.png'
cat >img.yaml <<'END2'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: image_folder
  train: set
  validation: set
  global_batch_size: 2
  element: {image: {shape: [4, 4, 1]}, label: {num_classes: 2}}
model:
  layers:
    - Input: {name: image, shape: [4, 4, 1]}
    - Flatten
    - Dense: {name: pet, units: 2}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: pets}
END2
"$DTRAIN" fit img.yaml -q || echo "exit $?"
"$DTRAIN" predict img.yaml | sed 's/[0-9]\.[0-9.e-]*[0-9]/N/g'
"$DTRAIN" predict img.yaml --split train dataset.repeat=2 | cut -d , -f 1 | tail -n 2
"$DTRAIN" predict img.yaml --input set/cat --format jsonl | sed 's/[0-9]\.[0-9.e-]*[0-9]/N/g'
"$DTRAIN" predict img.yaml --input set | sed 's/[0-9]\.[0-9.e-]*[0-9]/N/g'
mkdir -p none/deep/er
echo text >none/deep/er/1.txt
exits 65 predict img.yaml --input none
sed 's/^dtrain: error: //' err
