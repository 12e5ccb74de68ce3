#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: model job
# Outputs and losses beside Keras (tests/golden/record_outputs.py): each pair of which Keras warns is a warning here, and each warning names a range that the values which Keras computes have.
. tests/cli/setup.sh
cp tests/cli/validate/keras_outputs.rows "$TEST_DIR" && cd "$TEST_DIR" || exit 1
cat >job.yaml <<'END'
version: 1
dataset: {format: synthetic, examples: 8, element: {x: {shape: [4]}, y: {num_classes: 2}}, global_batch_size: 8}
model: {type: functional, layers: []}
compile: {optimizer: sgd, loss: mse}
fit: {epochs: 1}
END
# A list of layers that names no inputs is a sequential model.
kind() { case $1 in *inputs:*) echo functional ;; *) echo sequential ;; esac; }
tab=$(printf '\t')
grep -v '^#' keras_outputs.rows | while IFS=$tab read -r layers loss logits keras low high; do
    said=$("$DTRAIN" validate --no-data -q job.yaml "model={type: $(kind "$layers"), layers: [$layers]}" \
        "compile.loss={$loss: {from_logits: $logits}}" 2>&1 | grep -o 'warning:.*\|error:.*' | head -n 1)
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$layers" "$loss" "$logits" "$keras" "$low" "$high" "$said"
done >all
awk -F'\t' '
function in_unit() { return $5 >= -1e-5 && $6 <= 1 + 1e-5 }
# Whether the values are as the warning says.
function holds(said) {
    if (said ~ /gives any number/) return $5 < 0 && $6 > 1
    if (said ~ /gives hardly any negative/) return $5 < 0 && $5 > -3 && $6 > 3
    if (said ~ /gives negative numbers, too/) return $5 < 0 && $6 > 0
    if (said ~ /gives no negative|gives positive/) return $5 >= 0
    if (said ~ /gives negative|gives logarithms/) return $6 <= 0
    if (said ~ /gives numbers from -1 to 1/) return $5 >= -1 - 1e-5 && $6 <= 1 + 1e-5
    if (said ~ /gives numbers from 0 to 1|gives probabilities/) return in_unit()
    return said ~ /always gives the same number|already|has one/
}
# Without a word: probabilities, for the categorical ones no negative numbers, which Keras divides by
# their sum; or logits of both signs.
function fits() {
    if ($3 == "true") return $5 < 0
    return $2 == "CategoricalCrossentropy" ? $5 >= 0 : in_unit()
}
{
    n++
    why = $7 ~ /^error/ ? "an error" : $4 == "warns" && !$7 ? "Keras warns" : $7 && !holds($7) ? "not so" : !$7 && !fits() ? "no warning" : ""
    if (why) { bad++; print why ": " $0 } else if ($7) warned++; else silent++
}
END { printf "%d pairs: %d warnings, %d silent, %d differ\n", n, warned, silent, bad }' all
