#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dataset.window: what `validate`, `data inspect` and `predict` say of it, and its faults with their places.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "t,shop,y"; for (i = 0; i < 40; i++) for (s = 0; s < 2; s++) print i "," (s ? "b" : "a") "," i * (s + 1) }' >shops.csv
cat >job.yaml <<'END'
version: 1
dataset:
  format: csv
  train: shops.csv
  element:
    t: {column: t, dtype: float64}
    shop: {column: shop, vocabulary: [a, b]}
    past: {columns: [y]}
    y: {column: y}
  window: {length: 8, horizon: 3, order: t, group: shop, future: [y]}
  validation_split: 0.25
  global_batch_size: 16
model: {layers: [Input: {name: past, shape: [8, 1]}, Flatten, Dense: {units: 3}]}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: mse}
fit: {epochs: 1}
output: {dir: run}
END
change() { sed "$1" job.yaml >changed.yaml && show "${2:-validate}" changed.yaml; }
show validate job.yaml
show validate job.yaml 'model.layers=[{Input: {name: past, shape: [9, 1]}}, Flatten, {Dense: {units: 3}}]'
show data inspect job.yaml --records 1
change 's/future: \[y\]/future: [y, sale]/'
change 's/order: t,/order: time,/'
change 's/group: shop/group: shops/'
change 's/length: 8/length: 0/'
change 's/length: 8, //'
change 's/length: 8/length: 38/'
change 's/group: shop, //; s/loss: mse/loss: mse, target: y/; s/{column: shop, vocabulary: .a, b.}/{column: y}/'
change 's/t: {column: t, /t: {columns: [t, y], /'
change 's/validation_split: 0.25/validation_split: {fraction: 0.25}/'
change 's/validation_split: 0.25/validation_folds: 3/'
change 's/length: 8/length: 30/; s/validation_split: 0.25/validation_split: 0.9/'
sed '9s/.*/,a,5/' shops.csv >gap.csv
change 's/shops.csv/gap.csv/'
awk -F, -v OFS=, 'NR > 1 { $1 = sprintf("2024-%02d-%02d", 1 + $1 / 28, 1 + $1 % 28) } { print }' shops.csv >dates.csv
change 's/shops.csv/dates.csv/; s/float64/string/'
sed '9s/[^,]*//' dates.csv >gap.csv
change 's/shops.csv/gap.csv/; s/float64/string/'
sed '9s/[^,]*/03.04.2024/; 10s/[^,]*/03\/04\/2024/' dates.csv >unclear.csv
change 's/shops.csv/unclear.csv/; s/float64/string/'
sed '2,$s/^\([0-9]*\),/week \1,/' shops.csv >weeks.csv
change 's/shops.csv/weeks.csv/; s/float64/string/'
awk 'BEGIN { print "t,shop,y"; for (i = 0; i < 1000; i++) printf "2024-01-01 09:00:00.%06d,a,%d\n", i, i }' >micros.csv
change 's/shops.csv/micros.csv/; s/float64/string/'
change 's/name: past/name: shop/'
exits 0 fit job.yaml -q
printf 't,shop,y\n' >new.csv && awk 'BEGIN { for (i = 19; i > 9; i--) print i ",b," 2 * i; for (i = 1; i < 9; i++) print i ",a," i }' >>new.csv
"$DTRAIN" predict job.yaml --input new.csv --keep t,shop | cut -d , -f 1,2
"$DTRAIN" predict job.yaml --input - --keep t <new.csv | wc -l
head -n 8 new.csv >short.csv
show predict job.yaml --input short.csv
sed '4s/.*/,b,5/' new.csv >gap.csv
show predict job.yaml --input gap.csv
show predict job.yaml --input new.csv --on-error row
# With values that are known beforehand the last window ends with the last row, too: 15 to 19 of b, whose 8 rows in the past end with 17.
sed 's/{columns: \[y\]}/&\n    next: {column: t}/; s/horizon: 3, /horizon: 2, stride: 4, /; s/future: \[y\]/future: [y, next]/
    s/^model: .*/model: {type: functional, layers: [Input: {name: past, shape: [8, 1]}, Flatten, Input: {name: next, shape: [2]}, Concatenate: {inputs: [flatten, next]}, Dense: {units: 2}]}/
    s/{dir: run}/{dir: known}/' job.yaml >known.yaml
exits 0 fit known.yaml -q
awk 'BEGIN { print "t,shop,y"; for (i = 7; i < 20; i++) print i ",b," i }' >more.csv
"$DTRAIN" predict known.yaml --input more.csv --keep t | cut -d , -f 1
for strategy in '{type: mirrored, devices: [CPU:0, CPU:1]}' '{type: one_device, device: CPU:0}'; do
    "$DTRAIN" fit job.yaml "strategy=$strategy" --fresh --json | sed -n 's/.*"weights_sha256":"\([^"]*\)".*/\1/p' | tail -n 1
done | sort -u | wc -l
