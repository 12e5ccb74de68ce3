#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job of texts predicts a text: its rows are those of a part of the data. Rows of tokens are read as before: JSON lines, and CSV of numbers or of named columns.
. tests/cli/setup.sh
cd "$TEST_DIR" && mkdir job || exit 1
yes 'to be or not to be' | head -n 8 >job/train.txt
printf 'not to,be\nbe to, or\n' | tr -d , >new.txt
cp new.txt job/ # paths of the job begin at its file
cat >job/text.yaml <<'END'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: text, train: train.txt, test: new.txt, element: {tokens: {shape: [4]}}, global_batch_size: 4}
model: {layers: [Input: {name: tokens, shape: [4], dtype: int32}, Embedding: {input_dim: 8, output_dim: 3}, Dense: {units: 8}]}
compile: {optimizer: sgd, loss: {sparse_categorical_crossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
"$DTRAIN" fit job/text.yaml -q || exit 1
"$DTRAIN" predict job/text.yaml --split test -o want.csv -q || exit 1
wc -l <want.csv
gzip -k new.txt && cp new.txt rows.csv
"$DTRAIN" data convert job/text.yaml --split test -o all.csv -q || exit 1
cut -d , -f 1-4 all.csv >columns.csv
tail -n +2 columns.csv >numbers.csv
sed 's/.*/{"tokens": [&]}/' numbers.csv >numbers.jsonl
for rows in new.txt new.txt.gz 'new*.txt' ./rows.csv columns.csv numbers.csv numbers.jsonl; do
    "$DTRAIN" predict job/text.yaml --input "$rows" -o got.csv -q && cmp want.csv got.csv && echo "$rows: the same"
done
"$DTRAIN" predict job/text.yaml --input - -o got.csv -q <numbers.csv && cmp want.csv got.csv && echo '-: the same'
echo 'to be?' >other.txt
echo 'to' >short.txt
printf '\377\376t\000o\000' >utf16.txt
for rows in other.txt short.txt utf16.txt nowhere.txt; do
    show predict job/text.yaml --input $rows
done
exit 0
