#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Train on a table, look at the run in a browser, change one value, and compare.
. tests/cli/setup.sh
. tests/cli/pages.sh
page your-own-data
step awk
given flowers.yaml
step 'dtrain fit flowers.yaml'
page report
step 'dtrain report runs/digits' 's/digits/flowers/'
cat said
dtrain fit flowers.yaml -q model.layers.1.Dense.units=8 output.dir=runs/tpu
step 'dtrain report runs/digits runs/tpu' 's/digits/flowers/'
cat said
grep -o '"model.layers\[1\].Dense.units": "[0-9]*"' compare.html
grep -o '"name": "dense", "kind": "Dense", "output": \[[0-9]*\], "parameters": [0-9]*' compare.html
