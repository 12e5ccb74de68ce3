#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Find the best width of a layer, continue the search elsewhere, and use its winner.
. tests/cli/setup.sh
. tests/cli/pages.sh
page sweep
given job.yaml
step 'dtrain sweep job.yaml let.width=4,8,16'
best=$(awk '$1 == "1" && NF > 3 { print $3; exit }' said)
dtrain evaluate runs/width/best.yaml | head -n 1 >evaluated
has evaluated "loss $best"
grep -o '"label": "trial-00[123]"' runs/width/sweep.html | sort

# Moved and run again: nothing is trained twice, and best.yaml has the new place.
mv runs/width runs/moved
step 'dtrain sweep job.yaml let.width=4,8,16' 's/runs\/width/runs\/moved/'
cat runs/moved/trial-00?/record.jsonl | grep -c '"event": "start"'
dtrain evaluate runs/moved/best.yaml | head -n 1 | cmp evaluated - || echo 'other weights'
