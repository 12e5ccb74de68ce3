#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Train a language model of characters and continue a text with it: as text, and as JSON lines with log-probabilities.
. tests/cli/setup.sh
. tests/cli/pages.sh
ln -s "${docs%/docs}/configs" configs
page recipes
step 'dtrain data synth text'
step 'export TINYSHAKESPEARE' 's/steps=40/steps=4/; s/freq=40/freq=4/; s/every: 40/every: 4/'
export TINYSHAKESPEARE="$PWD/text/play.txt" # each step is a shell of its own
step 'dtrain generate configs/char-gpt-small.yaml'
head -c 6 romeo.txt
echo
[ "$(wc -c <romeo.txt)" -ge 306 ] || cat romeo.txt
cp romeo.txt first
step 'dtrain generate configs/char-gpt-small.yaml'
cmp first romeo.txt
step "echo 'JULIET:'"
sed -n 's/.*"event":"\([a-z]*\)".*/\1/p' said.jsonl | sort -u
