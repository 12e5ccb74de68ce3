#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Texts in folders, one per class: look at them, write a job from them, train, evaluate a folder that was kept aside, predict a file;
# then a language model of one text.
. tests/cli/setup.sh
. tests/cli/pages.sh
page recipes
step "awk 'function any(" 's/ file = / file = (i >= 320 ? "test-" : "") /; s/letters.spam"/& " test-letters\/ham test-letters\/spam"/'
[ "$(find test-letters -name '*.txt' | wc -l)" = 80 ] || echo "no texts were kept aside"
step 'dtrain data inspect letters'
cat said
step 'dtrain config init --from letters'
step 'dtrain fit letters.yaml'
dtrain evaluate letters.yaml --input test-letters -q --expect 'accuracy >= 0.95'
step 'echo "this prize'
step 'dtrain predict letters.yaml'
cut -d, -f 1,2 said

# A file in another encoding is named before training.
printf 'caf\351 prize\n' >letters/spam/latin.txt
dtrain data inspect letters | tail -n 1
dtrain fit letters.yaml -q --fresh 2>&1 | grep -c 'latin.txt:1:4: byte 0xe9 is not UTF-8'

cat letters/*/*.txt | iconv -c -f utf-8 -t ascii >play.txt
line=$(shown 'dtrain config init --from text' | sed 's|text/||')
sh -c "$line" && dtrain fit play.yaml fit.epochs=2 -q && sed -n '/tokens:/p' play.yaml
