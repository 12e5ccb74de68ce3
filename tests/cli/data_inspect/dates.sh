#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Columns of dates get the steps that read them, and a job with these lines trains; where the day or the month may come first, nothing is guessed.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
printf 'day,when,store,sold\n2024-01-05,03/04/2024,3,10\n,05/04/2024,2,12\n2024-02-07,01/02/2024,1,9\n2024-03-15,02/02/2024,4,20\n' >sales.csv
show data inspect sales.csv --records 0
"$DTRAIN" data inspect sales.csv --json | grep -o '"name": "\(day\|when\)", "type": "[a-z]*", "dtype": "[a-z]*"'
{
    echo 'version: 1'
    "$DTRAIN" data inspect sales.csv --records 0 | sed -n 's/\[store, sold\]}/[store]}\n    sold: {column: sold}/; /^dataset/,$p'
    cat <<'END'
model:
  type: functional
  layers: [Input: {name: x, shape: [1]}, Input: {name: day, shape: [3]}, Concatenate: {inputs: [x, day], name: all}, Dense: {name: sold, units: 1, inputs: all}]
  outputs: [sold]
compile: {optimizer: adam, loss: mse}
fit: {epochs: 1}
END
} >job.yaml
"$DTRAIN" fit job.yaml -q || cat job.yaml
