#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page's mixture of experts learns its text, with and without slots; what it learned is evaluated.
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the numbers are those of the plain build; docs/readme.sh runs these commands under sanitizers" && exit 77; fi
configs=$PWD/configs
. tests/cli/pages.sh
page recipes
ln -s "$configs" configs
step 'dtrain data synth text -o text -q'
export TINYSHAKESPEARE="$PWD/text/play.txt"
learns() {
    line=$(shown "$1" | sed 's/ | tail -n 2$//')
    sh -c "$line --expect 'val_loss < 1.9'" >said 2>&1 || cat said
}
fit='dtrain fit configs/char-moe.yaml fit.steps=200 fit.validation_freq=200'
learns "$fit |"
learns "$fit output.dir=runs/slots"
dtrain evaluate configs/char-moe.yaml | sed -n 's/^\(validation\) .*/\1/p'
