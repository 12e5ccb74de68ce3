#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fit.class_weight by the names of classes gives the weights that it gives by their numbers, wherever the names come from.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "a,b,kind,code,is_cat,is_dog,is_emu"
    for (i = 0; i < 24; i++) { k = i * 5 % 3; printf "%.1f,%d,%s,%d,%d,%d,%d\n", i / 10, i % 4, substr("catdogemu", 1 + 3 * k, 3), k, k == 0, k == 1, k == 2 } }' >t.csv
cat >job.yaml <<'END'
version: 1
dataset:
  format: csv
  train: t.csv
  global_batch_size: 8
  element: {x: {columns: [a, b]}, y: {column: kind, vocabulary: [cat, dog, emu]}}
model:
  layers:
    - Input: {name: x, shape: [2]}
    - Dense: {units: 3}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
output: {dir: run}
END
sha() { "$DTRAIN" fit job.yaml --fresh --json "$@" | sed -n 's/.*"event":"end".*"weights_sha256":"\([0-9a-f]*\)".*/\1/p'; }
# same NUMBERS NAMES WORDS...
same() {
    numbers=$1 names=$2
    shift 2
    by_number=$(sha "$@" "fit.class_weight=$numbers") by_name=$(sha "$@" "fit.class_weight=$names") plain=$(sha "$@")
    [ -n "$by_name" ] && [ "$by_number" = "$by_name" ] && [ "$by_name" != "$plain" ] || echo "$names $*: $by_name, by number $by_number, without $plain"
}
categorical='compile.loss={CategoricalCrossentropy: {from_logits: true}}'
same '{0: 2, 2: 0.5}' '{cat: 2, emu: 0.5}'
same '{0: 2, 2: 0.5}' '{emu: 0.5, 0: 2}'
same '{1: 3}' '{dog: 3}' 'dataset.map={y: [one_hot: 3]}' "$categorical"
same '{1: 3}' '{is_dog: 3}' 'dataset.element.y={columns: [is_cat, is_dog, is_emu]}' "$categorical"
# behind [UNK]; a learned vocabulary has words of one frequency in reverse order, as in Keras
same '{3: 3}' '{emu: 3}' 'dataset.element.y={column: kind, dtype: string}' 'model.layers.1.Dense.units=4' \
    'dataset.map={y: [string_lookup: {vocabulary: [cat, dog, emu]}]}'
same '{1: 3}' '{emu: 3}' 'dataset.element.y={column: kind, dtype: string}' 'model.layers.1.Dense.units=4' \
    'dataset.map={y: [string_lookup]}'
same '{1: 4}' '{dog: 4}' 'dataset.element.y={column: kind, vocabulary: [cat, dog, emu]}' strategy.type=mirrored 'strategy.devices=["CPU:0", "CPU:1"]'

show validate job.yaml 'fit.class_weight={catt: 2, EMU: 1, whale: 0}'
show fit job.yaml -n 'fit.class_weight={catt: 2, EMU: 1, whale: 0}'
show plan job.yaml 'fit.class_weight={3: 2}'
show fit job.yaml -n 'fit.class_weight={cat: 2, 0: 2}'
show fit job.yaml -n 'fit.class_weight={cat: 2}' 'dataset.element.y={column: code, dtype: int32}'

# balanced, as scikit-learn's compute_class_weight: of 24 training rows 16 are cat, 6 dog and 2 emu. The validation rows are not counted.
awk 'BEGIN { print "a,b,kind,code,part,z"
    for (i = 0; i < 36; i++) { k = i > 23 ? 2 : i % 12 == 0 ? 2 : i % 3 == 0; printf "%.1f,%d,%s,%d,%.1f,%d\n", i / 10, i % 4, substr("catdogemu", 1 + 3 * k, 3), k, k + .5, -k } }' >t.csv
sed -i 's/  global_batch_size: 8/&\n  validation_split: 0.33333333333/' job.yaml
balanced='{cat: 0.5, dog: 1.3333333333333333, emu: 4}'
same "$balanced" balanced
same "$balanced" balanced 'dataset.map={y: [one_hot: 3]}' "$categorical"
same "$balanced" balanced strategy.type=mirrored 'strategy.devices=["CPU:0", "CPU:1"]'
# classes that do not occur have no part in it
same '{0: 0.5, 1: 1.3333333333333333, 2: 4}' balanced 'dataset.element.y={column: code, dtype: int32}' model.layers.1.Dense.units=7
# emu is ignored: 22 rows of two classes
same '{0: 0.6875, 1: 1.8333333333333333}' balanced \
    'compile.loss={SparseCategoricalCrossentropy: {from_logits: true, ignore_class: 2}}'
for column in part z; do
    show fit job.yaml -n fit.class_weight=balanced "dataset.element.y={column: $column}" compile.loss=mse model.layers.1.Dense.units=1
done
show fit job.yaml -n fit.class_weight=equal
show fit job.yaml -n 'fit.class_weight=[1, 2]'
