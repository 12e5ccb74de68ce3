#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A table with gaps, as a spreadsheet wrote it: look at it, paste what is printed into a job, train,
# and predict rows that have gaps, too.
. tests/cli/setup.sh
. tests/cli/pages.sh
page your-own-data
awk 'function gap(n, mark, value) { return i % n ? value : mark }
BEGIN { print "age;income;town;bought"; split("Bonn Kiel Ulm", town)
    for (i = 0; i < 300; i++) {
        rich = i % 50 > 25
        printf "%s;%s;%s;%s\n", gap(7, "NA", 20 + i % 50), gap(11, "", i % 50 * 100),
            gap(13, "?", town[i % 3 + 1]), rich ? "yes" : "no" } }' >people.csv
step 'dtrain data inspect flowers.csv' 's/flowers/people/'
sed -n '/^column/,/^$/p' said

# The lines of the job; the target without one_hot, as the text above them says.
{
    echo 'version: 1'
    sed -n '/^dataset:/,$p' said | grep -v 'bought: \[{one_hot'
    cat <<'END'
  validation_split: 0.2
  shuffle: true
model:
  type: functional
  layers:
    - Input: {name: x, shape: [2]}
    - Input: {name: town, shape: [3]}
    - Concatenate: {name: all, inputs: [x, town]}
    - Dense: {name: hidden, units: 16, activation: relu, inputs: all}
    - Dense: {name: answer, units: 2, inputs: hidden}
compile:
  optimizer: {Adam: {learning_rate: 0.02}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {epochs: 30}
output: {dir: runs/people}
END
} >people.yaml
dtrain fit people.yaml -q --expect 'val_accuracy >= 0.9'
printf 'age;income;town\nNA;4500;\n40;;Ulm\n' >new.csv
dtrain predict people.yaml --input new.csv --top 1 | wc -l

# Without a step for gaps the error names the line to add.
sed 's/{impute: median}, //' people.yaml >other.yaml
dtrain fit other.yaml -q output.dir=runs/other 2>&1 | grep -c impute
