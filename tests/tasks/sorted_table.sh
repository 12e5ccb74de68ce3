#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A file that is sorted by class: fit names the line to write, as the page does, and it trains well.
. tests/cli/setup.sh
. tests/cli/pages.sh
page your-own-data
step awk
given flowers.yaml
{ head -n 1 flowers.csv && tail -n +2 flowers.csv | sort -t , -k 4; } >sorted.csv
mv sorted.csv flowers.csv
dtrain fit flowers.yaml -q 2>err
line=$(sed -n "s/.*write '\(validation_split: [^']*\)'.*/\1/p" err)
[ "$line" = "$(shown 'validation_split: {')" ] || { echo "fit names: $line" && cat err; }
sed "s/^  validation_split: .*/  $line/" flowers.yaml >drawn.yaml
dtrain fit drawn.yaml -q output.dir=runs/drawn --expect 'val_accuracy >= 0.9' 2>err
cat err
dtrain evaluate drawn.yaml output.dir=runs/drawn | sed -n 's/^\(iris\|lily\|rose\) .* /\1 /p' | head -n 3
