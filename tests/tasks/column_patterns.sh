#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A wide table: columns by pattern, as docs/data.md writes them, and all but some.
. tests/cli/setup.sh
. tests/cli/pages.sh
page data
awk 'BEGIN { srand(8); printf "id"; for (k = 0; k < 12; k++) printf ",pixel%d", k; print ",label"
    for (i = 0; i < 300; i++) { printf "%d", i; sum = 0
        for (k = 0; k < 12; k++) { v = int(256 * rand()); sum += k < 6 ? v : -v; printf ",%d", v }
        print "," (sum > 0) } }' >wide.csv
for columns in "$(shown '["pixel*"]')" "$(shown '{all_but: [id, label]}')"; do
    cat >wide.yaml <<END
version: 1
seed: 1
dataset:
  format: csv
  train: wide.csv
  element: {x: {columns: $columns}, label: {column: label, dtype: int32}}
  map: {x: [normalize]}
  validation_split: 0.2
  global_batch_size: 20
model: {layers: [Input: {name: x, shape: [12]}, Dense: {units: 1, activation: sigmoid}]}
compile: {optimizer: {Adam: {learning_rate: 0.03}}, loss: binary_crossentropy, metrics: [accuracy]}
fit: {epochs: 25}
END
    dtrain fit wide.yaml -q --fresh --expect 'val_accuracy >= 0.9' || cat wide.yaml
    dtrain evaluate wide.yaml -q --metrics m.json && cat m.json >>all.json
done
uniq all.json | wc -l
