#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What evaluate prints about classes, two classes, labels and numbers, with names that are hostile; outputs with more dimensions have metrics alone.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "a,b,kind,good,price,l1,l2"
    for (i = 0; i < 40; i++) print i % 7 "," i % 5 "," (i % 3 == 0 ? "x|y" : i % 3 == 1 ? "<b>" : "\033[1mz") "," (i % 2 ? "no" : "yes") "," i % 7 * 10 "," i % 2 "," (i % 7 > 3) }' >all.csv
job() { # name element last-layer loss
    cat >"$1.yaml" <<END
version: 1
seed: 3
dataset: {format: csv, train: all.csv, element: {x: {columns: [a, b]}, $2}, validation_split: 0.5, global_batch_size: 8}
model: {layers: [Input: {name: x, shape: [2]}, Dense: {name: out, $3}]}
compile: {optimizer: Adam, loss: $4}
fit: {epochs: 2}
END
    "$DTRAIN" fit "$1.yaml" -q || exit 1
}
digits() { sed 's/-*[0-9][0-9]*\.[0-9e+-]*/N/g; s/sha .*/sha/; s/  *N/ N/g'; }
job kinds 'kind: {column: kind, vocabulary: ["x|y", <b>, "\e[1mz"]}' 'units: 3, activation: softmax' sparse_categorical_crossentropy
job good 'good: {column: good, vocabulary: [no, yes]}' 'units: 1, activation: sigmoid' binary_crossentropy
job logits 'good: {column: good, vocabulary: [no, yes]}' 'units: 1' '{BinaryCrossentropy: {from_logits: true}}'
job price 'price: {column: price}' 'units: 1' mse
job labels 'y: {columns: [l1, l2]}' 'units: 2, activation: sigmoid' binary_crossentropy
for name in kinds good price labels; do
    echo "--- $name"
    "$DTRAIN" evaluate $name.yaml | digits
done
echo '--- members'
for name in kinds good logits price labels; do
    "$DTRAIN" evaluate $name.yaml --json | sed -n '/"explained"/p' | grep -o '"[a-z_0-9]*":[{[]*' | sort | uniq -c | awk '{ printf "%s%s ", $2, ($1 > 1 ? $1 : "") } END { print "" }'
done
"$DTRAIN" evaluate good.yaml --threshold-for recall | sed -n 's/at a threshold.*//; /^best/p'
exits 0 evaluate good.yaml --threshold-for f1_score
exits 64 evaluate good.yaml --threshold-for nonsense
"$DTRAIN" evaluate good.yaml -q

# One class of two: as in scikit-learn, the balanced accuracy is the recall of the one that there is.
grep -e kind -e yes all.csv >yes.csv
"$DTRAIN" evaluate good.yaml --input yes.csv --json | grep -o '"best_threshold":{[^}]*}' | sed 's/.*"recall":\([^,]*\),.*"balanced_accuracy":\([^,]*\),.*/\1 \2/'

# Examples of the class that the loss ignores do not count.
job ignored 'kind: {column: kind, vocabulary: ["x|y", <b>, "\e[1mz"]}' 'units: 3, activation: softmax' '{SparseCategoricalCrossentropy: {ignore_class: 1}}'
"$DTRAIN" evaluate ignored.yaml --json | grep -o '"examples":[0-9]*,"classes"\|"support":[0-9]*' | head -n 4

# Several outputs: each with its own numbers, so the mean of the squared errors is its loss.
cat >several.yaml <<END
version: 1
seed: 3
dataset: {format: csv, train: all.csv, element: {x: {columns: [a, b]}, good: {column: good, vocabulary: [no, yes]}, price: {column: price}}, validation_split: 0.5, global_batch_size: 8}
model:
  type: functional
  layers: [Input: {name: x, shape: [2]}, Dense: {name: good, units: 1, activation: sigmoid, inputs: x}, Dense: {name: price, units: 1, inputs: x}]
  outputs: [good, price]
compile: {optimizer: Adam, loss: {good: binary_crossentropy, price: mse}, metrics: {good: [accuracy], price: [mae]}}
fit: {epochs: 2}
END
"$DTRAIN" fit several.yaml -q || exit 1
"$DTRAIN" evaluate several.yaml --json >several.jsonl
number() { sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p" several.jsonl | head -n 1; }
awk -v loss="$(number price_loss)" -v mae="$(number price_mae)" -v rmse="$(number root_mean_squared_error)" -v absolute="$(number mean_absolute_error)" \
    'BEGIN { print (loss > 0 && (rmse * rmse / loss - 1) ^ 2 < 1e-8 && (absolute / mae - 1) ^ 2 < 1e-8) ? "the same" : loss " " rmse " " mae " " absolute }'
