#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rows with targets from a file, in any format, whatever format the job's data has: the metrics are those of the same examples as a part of the data. A checkpoint knows what is stored and what steps of `map` learned, so the data may be gone.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "a,b,kind,weight,id"; for (i = 0; i < 40; i++) print i % 7 "," i % 5 "," (i % 3 ? "lily" : "iris") "," 1 + i % 2 ",r" i }' >all.csv
(sed -n 1p all.csv && tail -n 11 all.csv) >new.csv
job() { # format and parts
    cat <<END
version: 1
seed: 3
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {$1, map: {x: [normalize]}, global_batch_size: 4}
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 2, activation: softmax}]}
compile: {optimizer: sgd, loss: sparse_categorical_crossentropy, metrics: [accuracy], target: kind, sample_weight: weight}
fit: {epochs: 1}
output: {dir: run}
END
}
element='element: {x: {columns: [a, b]}, kind: {column: kind, vocabulary: [iris, lily]}, weight: {column: weight}}'
mkdir train new words numbers
job "format: csv, train: all.csv, test: new.csv, $element" >csv.yaml
job 'format: npy, train: {x: train/x.npy, kind: train/kind.npy, weight: train/weight.npy}' >npy.yaml
job 'format: npy, train: {x: new/x.npy, kind: new/kind.npy, weight: new/weight.npy}' >arrays.yaml
"$DTRAIN" data convert csv.yaml -o 'train/{element}.npy' -q || exit 1
"$DTRAIN" data convert csv.yaml --split test -o 'new/{element}.npy' -q || exit 1
for suffix in csv npz jsonl tfrecord; do
    "$DTRAIN" data convert csv.yaml --split test -o words/new.$suffix -q || exit 1
    "$DTRAIN" data convert arrays.yaml -o numbers/new.$suffix -q || exit 1
done
for job in csv npy; do
    rm -rf run
    "$DTRAIN" fit $job.yaml -q || exit 1
    [ $job = npy ] || "$DTRAIN" evaluate csv.yaml --split test --json | sed -n '/"eval"/p' | grep -o '"loss":.*' >want
    mv train gone && mv all.csv gone.csv
    for file in new.csv words/new.* numbers/new.*; do
        "$DTRAIN" evaluate $job.yaml --input "$file" --json 2>err | sed -n '/"eval"/p' | grep -o '"loss":.*' >got
        if cmp -s want got; then echo "$job, $file: the same"; else cat err got; fi
    done
    mv gone train && mv gone.csv all.csv
done
"$DTRAIN" evaluate csv.yaml --input new.csv | sed 's/sha .*/sha .../' | grep -e ^validation -e ^input -e ^of
# it is the job's own data that it trains with afterwards, and nothing but these rows is counted
"$DTRAIN" evaluate csv.yaml --input new.csv --steps 1 | sed -n 's/.*(/(/p' | head -n 1

echo '--- what cannot be evaluated'
cut -d , -f 1-3 new.csv >unweighted.csv
sed '$s/lily/rose/;$s/iris/rose/' new.csv >rose.csv
sed -n 1p new.csv >none.csv
printf '' >empty.csv
for file in unweighted.csv rose.csv none.csv empty.csv nowhere.csv new/x.npy .; do
    show evaluate csv.yaml --input $file
done
show evaluate csv.yaml --input 'new*.csv'
show evaluate csv.yaml --input - <new.csv
"$DTRAIN" export npy.yaml -o weights.safetensors -q || exit 1
mv train gone
show evaluate npy.yaml --ckpt weights.safetensors --input numbers/new.npz

echo '--- a text'
yes 'to be or not to be' | head -n 8 >train.txt
echo 'to bet or not to bet on the trees' >new.txt
tr -d 'hs' <new.txt >short.txt
cat >text.yaml <<'END'
version: 1
dataset: {format: text, train: train.txt, test: short.txt, element: {tokens: {shape: [4]}}, global_batch_size: 4}
model: {layers: [Input: {name: tokens, shape: [4], dtype: int32}, Embedding: {input_dim: 9, output_dim: 3}, Dense: {units: 9}]}
compile: {optimizer: sgd, loss: {sparse_categorical_crossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
"$DTRAIN" fit text.yaml -q || exit 1
"$DTRAIN" evaluate text.yaml --split test | head -n 1
"$DTRAIN" evaluate text.yaml --input short.txt | head -n 1
show evaluate text.yaml --input new.txt
show evaluate text.yaml --input - <new.txt
exit 0
