#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A language model of packed documents as the page makes it: it knows sums that it is
# asked for, and a second replica changes no bit.
. tests/cli/setup.sh
. tests/cli/pages.sh
page recipes
step 'cat > sums.py'
step 'python3 sums.py'
given sums.yaml
step 'dtrain fit sums.yaml'
step 'dtrain generate sums.yaml'
cat said
for sum in 3+4=7 6+6=12 8+9=17; do
    dtrain generate sums.yaml --prompt "${sum%%=*}=" --temperature 0 --max-tokens 2 | head -n 1
done
dtrain fit sums.yaml -q output.dir=runs/two 'strategy={type: mirrored, devices: ["CPU:0", "CPU:1"]}'
dtrain ckpt diff runs/sums runs/two
