#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From an empty folder and docs/data.md alone: a table with missing values, of which the first run names the line to add; then the
# page's own data set, a model beside it, and predictions of rows with gaps.
. tests/cli/setup.sh
page=$PWD/docs/data.md
cd "$TEST_DIR" || exit 1
awk 'BEGIN {
    print "age,income,sex,job,bought"
    for (i = 0; i < 200; i++) {
        age = i % 7 ? 20 + i % 50 : "NA"
        income = i % 11 ? 1000 + 37 * (i % 90) : ""
        print age "," income "," (i % 13 ? (i % 2 ? "male" : "female") : "?") "," (i % 5 ? "clerk" : "null") "," (i % 50 > 25)
    }
}' >people.csv

# The block of the page, without the lines that begin and end it.
awk '/^## Missing values/ { on = 1 } on && /^```yaml/ { block = 1; next } block && /^```/ { exit } block' "$page" >data.yaml
{
    printf 'version: 1\nname: people\n'
    cat data.yaml
    cat <<'END'
  validation_split: 0.2
  global_batch_size: 20
model:
  type: functional
  layers:
    - Input: {name: x, shape: [4]}
    - Input: {name: sex, shape: [2]}
    - Input: {name: job, shape: [3]}
    - Concatenate: {name: all, inputs: [x, sex, job]}
    - Dense: {units: 8, activation: relu}
    - Dense: {units: 1, activation: sigmoid, name: p}
  outputs: [p]
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: binary_crossentropy, metrics: [accuracy]}
fit: {epochs: 2}
END
} >people.yaml

show fit people.yaml -q dataset.map.x=null dataset.map.sex=null
show fit people.yaml -q
printf 'age,income,sex,job\n30,,female,clerk\nNA,2000,?,null\n' >new.csv
"$DTRAIN" predict people.yaml --input new.csv | wc -l
printf '{"age": null, "income": 2000, "sex": null}\n' | "$DTRAIN" predict people.yaml --input - | wc -l
