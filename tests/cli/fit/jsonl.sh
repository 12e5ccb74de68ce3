#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JSON lines as a data set: the same weights as of CSV, from lines, a list, gzip and several files; faults have line and column.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { split("iris lily rose", k); print "l,w,note,kind"
    for (i = 0; i < 24; i++) printf "%d.%d,%s,%s,%s\n", i % 7, i % 5, i % 4 ? i / 8 : "", i % 2 ? "a big one" : "small", k[i % 3 + 1] }' >all.csv
awk -F, 'NR > 1 { printf "{\"note\": \"%s\", \"l\": %s, \"w\": %s, \"kind\": \"%s\", \"more\": {\"l\": [1]}}\n", $3, $1, $2 == "" ? "null" : $2, $4 }' all.csv >all.jsonl
head -n 10 all.jsonl >part-0.jsonl
tail -n +11 all.jsonl | gzip >part-1.jsonl
{ echo '[' && sed '$!s/$/,/' all.jsonl && echo ']'; } >list.json
sed 's/{"note"/{\n  "note"/; s/, /,\n  /g' all.jsonl >pretty.json
sed 's/"more": {"l": \[1\]}/"x": [0, 0]/; s/"l": \([^,]*\), "w": \([^,]*\),\(.*\)"x": \[0, 0\]/\3"x": [\1, \2]/' all.jsonl >elements.jsonl
cat >job.yaml <<'END'
version: 1
seed: 5
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: csv
  train: all.csv
  element:
    x: {columns: [l, w], default_value: 0.5}
    note: {column: note, dtype: string}
    kind: {column: kind, vocabulary: [iris, lily, rose]}
  map: {note: [text_vectorization: {output_sequence_length: 3}]}
  validation_split: 0.25
  shuffle: true
  global_batch_size: 4
model:
  type: functional
  layers:
    - Input: {name: x, shape: [2]}
    - Input: {name: note, shape: [3], dtype: int32}
    - Embedding: {name: e, inputs: note, input_dim: 9, output_dim: 2}
    - Flatten: {inputs: e, name: f}
    - Concatenate: {inputs: [x, f]}
    - Dense: {units: 3, name: logits}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 2}
output: {dir: csv}
END
sed 's/format: csv/format: jsonl/' job.yaml >jsonl.yaml
"$DTRAIN" fit job.yaml -q || exit 1
for train in all.jsonl 'part-*.jsonl' '[part-0.jsonl, part-1.jsonl]' list.json pretty.json elements.jsonl; do
    "$DTRAIN" fit jsonl.yaml -q --fresh output.dir=other "dataset.train=$train" && "$DTRAIN" ckpt diff csv other
    "$DTRAIN" evaluate jsonl.yaml output.dir=other "dataset.train=$train" -q
done
"$DTRAIN" predict job.yaml --input all.csv -o want.csv -q
for rows in all.jsonl list.json pretty.json elements.jsonl part-1.jsonl; do
    # shellcheck disable=SC2002 # a pipe is wanted
    cat $rows | "$DTRAIN" predict job.yaml --input - -o got.csv -q
    cp want.csv wanted.csv
    [ $rows != part-1.jsonl ] || { head -n 1 want.csv && tail -n 14 want.csv; } >wanted.csv
    cmp wanted.csv got.csv
done
# the training data is not needed
rm all.csv
"$DTRAIN" predict job.yaml --input all.jsonl -o got.csv -q && cmp want.csv got.csv
bad() { # a sed script of all.jsonl
    echo "== $1"
    sed "$1" all.jsonl >bad.jsonl
    "$DTRAIN" validate jsonl.yaml dataset.train=bad.jsonl
    echo "exit $?"
}
{
    bad '3s/rose/fern/'
    bad '3s/"rose"/7/'
    bad '4s/"l": [^,]*/"l": "long"/'
    bad '4s/"l": [^,]*/"l": 1e99/'
    bad '4s/"l": [^,]*/"l": 01/'
    bad '4s/"l"/"L"/'
    bad 's/"l"/"L"/'
    bad 's/"kind"/"sort"/'
    bad '5s/}}$/}/'
    bad '5s/"note"/"l"/'
    bad '5s/small/sm\\ud800all/'
    bad '5s/small/sm\\qall/'
    bad '2s/$/ x/'
    bad '2s/"note": "[^"]*"/"note": 3/'
    bad "2,\$d; s/.*/[]/"
} 2>&1
