#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# On a narrow terminal lines are broken between words, and the part of a line that the carets mark is shown. Pipes and the log have whole lines.
. tests/cli/setup.sh
needs_terminals
cd "$TEST_DIR" || exit
cat >job.yaml <<'END'
version: 1
dataset: {format: synthetic, examples: 32, element: {x: {shape: [4]}, y: {num_classes: 2}}, global_batch_size: 8}
model: {layers: [Input: {name: x, shape: [4]}, Dense: {units: 8, activation: relu}, Dense: {units: 2, activaton: softmax, use_bias: true}]}
compile: {optimizer: Adm, loss: sparse_categorical_crossentropy}
fit: {epochs: 1}
END
for columns in 60 40 20; do
    echo "$columns columns"
    on_terminal "COLUMNS=$columns $DTRAIN validate job.yaml --color never --log-file log" | tee shown
    [ "$columns" -lt 30 ] || awk -v most="$columns" 'length > most { print "too wide: " $0 }' shown
done
"$DTRAIN" validate job.yaml 2>piped
head -n "$(wc -l <piped)" log | cmp - piped
sed -i 's/activaton/activation/; s/Adm/Adam/' job.yaml
on_terminal "COLUMNS=50 $DTRAIN fit job.yaml --color never" | sed 's/.*|//; s/\^\[\[K//g' >shown
grep -c '^         ' shown
awk 'length > 50 { print "too wide: " $0 }' shown
