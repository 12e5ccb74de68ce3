#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A price in a table, normalized as the page says: errors and predictions are prices.
. tests/cli/setup.sh
. tests/cli/pages.sh
page data
awk 'BEGIN { srand(2); print "area,rooms,price"; for (i = 0; i < 400; i++) { a = 30 + int(170 * rand()); r = 1 + int(a / 30)
    print a "," r "," 40000 + 3000 * a + 9000 * r + int(5000 * rand()) } }' >houses.csv
{
    echo 'version: 1'
    shown_block() { awk '/^```/ { if (inside && all ~ /price: \[normalize\]/) { printf "%s", all; exit } inside = !inside; all = ""; next } inside { all = all $0 "\n" }' "$page"; }
    shown_block
    cat <<'END'
    x: [normalize]
  format: csv
  train: houses.csv
  validation_split: 0.2
  global_batch_size: 32
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 1}]}
compile: {optimizer: {Adam: {learning_rate: 0.05}}, loss: mse, metrics: [mae]}
fit: {epochs: 150}
END
} >houses.yaml
dtrain fit houses.yaml -q --expect 'val_mae > 500' --expect 'val_mae < 5000' --expect 'val_loss < 0.01'
printf 'area,rooms\n100,4\n' | dtrain predict houses.yaml --input - >said
head -n 1 said
tail -n 1 said | awk '{ print ($1 > 360000 && $1 < 400000) ? "a price" : "no price: " $1 }'
mentions 'compile.original_units: false'
