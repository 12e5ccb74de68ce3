#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rows are examples as the data set stores them, whatever format they are in: `map` makes of them what the model takes. The checkpoint knows the stored types, so that the data may be gone.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "a,b,c,d,e,f,g,h,i,y"; for (r = 0; r < 8; r++) { for (k = 0; k < 9; k++) printf "%d,", 9 * r + k; print r % 2 } }' >all.csv
job() { # format and train keys
    cat <<END
version: 1
seed: 3
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {$1, map: {x: [zero_padding: 1, rescale: {scale: 0.1}]}, global_batch_size: 4}
model: {layers: [Input: {name: x, shape: [5, 5, 1]}, Flatten, Dense: {units: 2, activation: softmax}]}
compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}
fit: {epochs: 1}
output: {dir: run}
END
}
job 'format: csv, train: all.csv, element: {x: {columns: [a, b, c, d, e, f, g, h, i], shape: [3, 3, 1], dtype: uint8}, y: {column: y, dtype: int32}}' >csv.yaml
"$DTRAIN" data convert csv.yaml -o '{element}.npy' -q || exit 1
"$DTRAIN" data convert csv.yaml -o rows.npz -q || exit 1
"$DTRAIN" data convert csv.yaml -o rows.tfrecord -q || exit 1
cp x.npy rows.npy
tail -n +2 all.csv | cut -d , -f 1-9 >rows.csv
tail -n +2 all.csv | sed 's/\(.*,.*,.*\),\(.*,.*,.*\),\(.*,.*,.*\),\(.*\)/{"x": [[\1], [\2], [\3]], "y": \4}/' >rows.jsonl
job 'format: npy, train: {x: x.npy, y: y.npy}' >npy.yaml
"$DTRAIN" fit npy.yaml -q || exit 1
"$DTRAIN" predict npy.yaml --split train -o want.csv -q || exit 1
rm x.npy y.npy
for rows in npy npz tfrecord csv jsonl; do
    "$DTRAIN" predict npy.yaml --input rows.$rows -o got.csv -q && cmp want.csv got.csv && echo "$rows: the same"
done
# a value that the data set could not hold
sed 's/0/0.5/' rows.jsonl >bad.jsonl
show predict npy.yaml --input bad.jsonl
# rows in the model's shape
echo '1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25' >bad.csv
show predict npy.yaml --input bad.csv
# neither a file of weights nor the data, which is gone, says what is stored: the shapes of the model are taken for it
"$DTRAIN" export npy.yaml -o w.safetensors -q || exit 1
"$DTRAIN" predict npy.yaml --ckpt w.safetensors --input bad.csv -o got.csv 2>&1
exit 0
