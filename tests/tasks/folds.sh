#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How sure is the number? Five models of the page's job, their mean as a gate, and the third model to predict with.
. tests/cli/setup.sh
. tests/cli/pages.sh
page your-own-data
step awk
given flowers.yaml
step 'dtrain fit flowers.yaml dataset.validation_split=null'
line=$(shown 'dtrain fit flowers.yaml dataset.validation_split=null' | sed 's/ -q$//')
sh -c "$line --expect 'val_accuracy >= 0.9'" >said || cat said
sed 's/[0-9]*\.[0-9][0-9.e-]*/N/g; s/  *N/ N/g' said
page data
mentions 'dataset.fold=K output.dir=DIR/fold-K'
line=$(echo "$line" | sed 's/dtrain fit/dtrain evaluate/; s/$/\/fold-3 dataset.fold=3/')
sh -c "$line" | sed -n 's/ loss .*(/ (/p'
