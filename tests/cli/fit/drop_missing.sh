#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# drop_missing: a job trains as if the records without a target had been deleted from the file, in CSV and JSON lines.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit
awk 'BEGIN { split(",NA,?, null ,-", mark, ",")
    for (i = 0; i < 60; i++) {
        y = i % 7 == 3 ? mark[i % 5 + 1] : i % 3
        printf "%d,%s,%d\n", i % 5, y, i % 4
        printf "{\"a\": %d%s, \"b\": %d}\n", i % 5, y ~ /^[012]$/ ? ", \"y\": " y : i % 2 ? ", \"y\": null" : "", i % 4 > "rows.jsonl"
    } }' >rows
(echo a,y,b && cat rows) >gaps.csv
(echo a,y,b && grep -E '^[0-9],[012],' rows) >whole.csv
grep '"y": [012]' rows.jsonl >whole.jsonl

# job FILE [KEY]...: prints a job's text
job() {
    cat <<END
version: 1
output: {dir: runs}
seed: 3
dataset:
  format: ${1##*.}
  train: $1
  element: {x: {columns: [a, b]}, y: {column: y, dtype: int32${3:-}}}
  validation_split: {fraction: 0.2, shuffle: true, stratify: y}
  global_batch_size: 8
  shuffle: true
  ${2:-}
model:
  layers: [Input: {name: x, shape: [2]}, Dense: {name: y, units: 3}]
compile: {loss: {SparseCategoricalCrossentropy: {from_logits: true}}, optimizer: Adam}
fit: {epochs: 2}
END
}
# train FILE [KEY]: prints the hash of the trained weights
train() {
    job "$@" >job.yaml
    "$DTRAIN" fit job.yaml --fresh >out 2>err || cat err
    sed -n 's/.*weights sha //p' out
}
for kind in csv jsonl; do
    gaps=gaps.csv
    [ $kind = csv ] || gaps=rows.jsonl
    whole=$(train whole.$kind 2>&1)
    dropped=$(train $gaps 'drop_missing: [y]' 2>err)
    [ -n "$whole" ] && [ "$whole" = "$dropped" ] && echo "$kind: the weights of the file without these records"
    "$DTRAIN" predict job.yaml --input $gaps | wc -l
    for file in $gaps whole.$kind; do
        "$DTRAIN" evaluate job.yaml --input "$file" --metrics "$file.json" >out 2>&1
        echo "exit $?"
        grep warning out
        sed 's/"input"[^,]*,//' "$file.json" >"$file.metrics"
    done
    cmp $gaps.metrics whole.$kind.metrics && echo "$kind: evaluated alike"
done

# must_fail KEY [KEYS OF y] [FILE]
must_fail() {
    job "${3:-gaps.csv}" "$1" "$2" >job.yaml
    "$DTRAIN" fit job.yaml --fresh >out 2>&1
    echo "exit $?"
    grep -E 'error|did you|add |left out' out
}
must_fail 'drop_missing: [z]'
must_fail 'drop_missing: [y]' ', default_value: 0'
must_fail 'map: {x: [normalize]}'
(echo a,y,b && grep -vE '^[0-9],[012],' rows) >none.csv
must_fail 'drop_missing: [y]' '' none.csv

echo 'Other values of such a record do not matter. Texts may be missing, too.'
printf 'a,y,b\n1,0,2\n,,\n2,1,3\n4,NA,x\n3,2,1\n' >more.csv
printf '{"a": 1, "y": 0, "b": 2}\n{"a": null}\n{"a": 2, "y": 1, "b": 3}\n{"a": 4, "b": "x"}\n{"a": 3, "y": 2, "b": 1}\n' >more.jsonl
for kind in csv jsonl; do
    for dtype in int32 string; do
        job more.$kind 'drop_missing: [y]' | sed "s/int32/$dtype/; /validation_split/d" >job.yaml
        [ $dtype = int32 ] || sed 's/"y": \(.\)/"y": "\1"/' more.jsonl >texts.jsonl
        [ $dtype = int32 ] || sed -i 's/more.jsonl/texts.jsonl/' job.yaml
        "$DTRAIN" data convert job.yaml -o rows.csv 2>&1 && tr -d '\r' <rows.csv
    done
done
job more.csv 'drop_missing: [y]' >job.yaml
"$DTRAIN" data inspect job.yaml dataset.validation_split=0.34 | grep 'left out'
