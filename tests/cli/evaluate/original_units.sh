#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: data export
# A target that `map` normalizes or rescales: fit, evaluate and predict speak in the target's own units, as scikit-learn's
# TransformedTargetRegressor does, and so does the exported model. With original_units: false they speak in those of the training.
python=$(scripts/python-tools numpy sklearn onnx onnxruntime) || exit 77
. tests/cli/setup.sh
here=$PWD
cd "$TEST_DIR" || exit 1
"$python" "$here/tests/cli/evaluate/original_units.py" write || exit 1
job() { # NAME ELEMENT MAP UNITS
    cat >"$1.yaml" <<END
version: 1
seed: 3
dataset: {format: csv, train: all.csv, element: {x: {columns: [a, b, c]}, $2}, map: {$3}, validation_split: 0.25, global_batch_size: 50}
model: {layers: [Input: {name: x, shape: [3]}, Dense: {name: out, units: $4}]}
compile: {optimizer: {Adam: {learning_rate: 0.05}}, loss: mse, metrics: [mae, RootMeanSquaredError, R2Score]}
fit: {epochs: 60}
END
    "$DTRAIN" fit "$1.yaml" -q || exit 1
    "$DTRAIN" evaluate "$1.yaml" --metrics "$1.json" -q || exit 1
    "$DTRAIN" predict "$1.yaml" -q -o "$1.csv" || exit 1
    "$DTRAIN" predict "$1.yaml" -q -o "$1.npy" || exit 1
    "$DTRAIN" predict "$1.yaml" -q --input new.csv -o "$1.new.npy" || exit 1
    "$DTRAIN" predict "$1.yaml" -q -o "$1.raw.npy" compile.original_units=false || exit 1
    "$DTRAIN" export "$1.yaml" -q -o "$1.onnx" || exit 1
    head -n 1 "$1.csv"
    "$python" "$here/tests/cli/evaluate/original_units.py" "$1" || exit 1
}
job learned 'price: {column: price}' 'price: [normalize]' 1
job given 'price: {column: price}' 'price: [rescale: {scale: 0.001, offset: -3}, normalize: {mean: 47, std: 17}]' 1
job both 'y: {columns: [price, rate]}' 'y: [cast: float32, normalize]' 2

# The same units in the lines of fit, in the history, in --expect and in callbacks; the loss is that of the training.
mae=$(sed -n 's/.*"val_mae": \([0-9.]*\).*/\1/p' runs/learned/history.jsonl | tail -n 1)
exits 0 fit learned.yaml -q --fresh --expect "val_mae > 100" --expect "val_loss < 0.1" --expect "val_mae == $mae"
exits 0 evaluate learned.yaml -q --expect "mae == $mae"
exits 80 evaluate learned.yaml -q compile.original_units=false --expect 'mae > 1'
# A column that is kept has its name already.
"$DTRAIN" predict learned.yaml --input all.csv --keep price | head -n 1
# An output without a loss is predicted as the model gives it, although an element belongs to it.
cat >unscored.yaml <<END
version: 1
dataset: {format: csv, train: all.csv, element: {x: {columns: [a]}, price: {columns: [price]}, rate: {columns: [rate]}}, global_batch_size: 50}
model:
  type: functional
  layers: [Input: {name: x, shape: [1]}, Dense: {name: price, units: 1, inputs: x}, Dense: {name: rate, units: 1, inputs: x}]
  outputs: [price, rate]
compile: {optimizer: SGD, loss: {price: mse, rate: null}, target: {price: price, rate: rate}}
fit: {epochs: 1}
END
"$DTRAIN" fit unscored.yaml -q || exit 1
"$DTRAIN" predict unscored.yaml -q --input all.csv | head -n 1
