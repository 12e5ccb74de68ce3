#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libsvm text is recognized and read, by a job, without one, and by predict; a line with a fault is named with its place.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
printf '# made by hand\n+1 1:0.5 3:2 # note\n\n-1 qid:7 2:1e1\n' >a.svm
show data inspect a.svm --records 0
printf '\357\273\277\n3 qid:1 1:1e-3 # note\n' >ranks.txt
show data inspect ranks.txt --records 1
"$DTRAIN" data convert a.svm -o a.csv -q && cat a.csv
cat >job.yaml <<'END'
version: 1
seed: 3
dataset:
  format: libsvm
  train: train.svm
  element: {features: {column: x, shape: [4]}, label: {vocabulary: ["-1", "1"]}}
  validation_split: {fraction: 0.25, shuffle: true, stratify: label}
  global_batch_size: 8
model: {layers: [Input: {name: features, shape: [4]}, Dense: {units: 1, activation: sigmoid}]}
compile: {optimizer: {Adam: {learning_rate: 0.1}}, loss: binary_crossentropy, metrics: [accuracy]}
fit: {epochs: 20}
output: {dir: run}
END
awk 'BEGIN { srand(5); print "# 80 examples"; for (i = 0; i < 80; i++) { y = i % 2; printf "%s", (y ? "+1" : "-1"); for (k = 1; k <= 4; k++) if (rand() < 0.6) printf " %d:%.3f", k, rand() + (k == 2 && y) * 2
    print (k == 2 && y ? " 2:9" : "") " # " i } }' >train.svm
"$DTRAIN" fit job.yaml -q --expect 'val_accuracy>=0.7' || echo "exit $?"
"$DTRAIN" predict job.yaml --input train.svm -q -o out.csv && wc -l <out.csv
gzip -k train.svm
[ "$("$DTRAIN" data inspect job.yaml dataset.train=train.svm.gz)" = "$("$DTRAIN" data inspect job.yaml)" ] || echo "gzip differs"
"$DTRAIN" config init --from train.svm --target label >init.yaml && "$DTRAIN" fit init.yaml -q --expect 'val_accuracy>=0.6'

fault() {
    printf %b "$1" >bad.svm
    "$DTRAIN" data inspect job.yaml dataset.train=bad.svm 2>&1 | sed -n '1s/^override 1:1:[0-9]*: //p'
    if "$DTRAIN" data inspect bad.svm >/dev/null 2>bad.err; then echo "read without a job"; else has bad.err bad.svm; fi
}
for text in '1 0:1\n' '1 2:1 1:1\n' '1 1:1 1:2\n' '1 99999999999999999999:1\n' '1 1000000000000:1\n' '1 5:1\n' '1 1:nan\n' '1 1:1e999\n' '1 1:0\n\n# c\n1:3 2:1\n' \
    '1 1:1 5\n' '1,-1 1:1\n' 'x 1:1\n' '7 1:1\n' '1 -3:1\n' '1 1:\n' '1 :1\n' '1 1:\0002\n' '1 2:1 qid:3\n' '1 1:0x10\n' '# none\n'; do
    fault "$text"
done
for element in 'x: {shape: [2], vocabulary: [a]}' 'x: {}' 'label: {shape: [2]}' 'label: {dtype: string}' 'weight: {}' 'x: {columns: [x, label]}'; do
    sed "s/element: .*/element: {$element}/; /validation_split/d; s/features, shape/x, shape/" job.yaml >wrong.yaml
    "$DTRAIN" data inspect wrong.yaml 2>&1 | sed -n 's/^wrong.yaml:6:[0-9]*: //p'
done
