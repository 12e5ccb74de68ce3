#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tf.SequenceExamples as the page writes them: lists of features that are filled up, a byte string of numbers, and the job that `config init`
# writes for the same file.
. tests/cli/setup.sh
. tests/cli/pages.sh
page recipes
step 'cat > runs.py'
step 'python3 runs.py'
given runs.yaml
step 'dtrain fit runs.yaml'
cut -c 1-8 said | uniq
dtrain data inspect runs.yaml | sed -n '/^element/,/^$/p' | cut -c 1-28
dtrain config init --from runs.tfrecord --target failed >made.yaml
grep -o '"sensors": {[^}]*}' made.yaml
dtrain fit made.yaml -q fit.epochs=1 output.dir=runs/made
# A run of 21 steps does not fit, and neither do steps of another size.
dtrain validate --data runs.yaml 'dataset.element.sensors={shape: [19, 2], padding_value: 0}' 2>&1 | grep -o "feature 'sensors' .*" | sort -u
dtrain validate --data runs.yaml 'dataset.element.sensors={shape: [20], padding_value: 0}' 2>&1 | grep -o "feature list 'sensors' .*" | sort -u
