#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A key with the value null counts as absent, also where users choose the keys: null removes a base's elements, files, steps and weights.
. tests/cli/setup.sh
write_tiny
sed 's|element: {|element: {side: {shape: [2]}, |; s|validation_split|map: {image: [rescale: {scale: 0.5}], label: [one_hot: 3]}\n  &|
    s|metrics:|target: label\n  &|; s|epochs: 2|epochs: 2, class_weight: {0: 2, 1: 3}|
    s|Sparse\(Categorical\)|\1|' "$tiny" >"$TEST_DIR/base.yaml"
cat >"$TEST_DIR/without.yaml" <<END
extends: base.yaml
dataset: {element: {side: null}, map: {label: null}}
compile: {target: null, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {class_weight: {0: null}}
output: {dir: "$TEST_DIR/run-without"}
END
cat >"$TEST_DIR/never.yaml" <<END
extends: tiny.yaml
dataset: {map: {image: [rescale: {scale: 0.5}]}}
fit: {class_weight: {1: 3}}
output: {dir: "$TEST_DIR/run-never"}
END
show validate "$TEST_DIR/base.yaml"
for name in without never; do
    show validate "$TEST_DIR/$name.yaml"
    "$DTRAIN" fit "$TEST_DIR/$name.yaml" --json >"$TEST_DIR/$name.out" || echo "exit $?"
    weights "$TEST_DIR/$name.out" >"$TEST_DIR/$name.sha"
done
[ -s "$TEST_DIR/never.sha" ] && cmp "$TEST_DIR/without.sha" "$TEST_DIR/never.sha"
show validate "$TEST_DIR/base.yaml" dataset.map.image=null fit.class_weight.1=null
show validate "$TEST_DIR/without.yaml" dataset.element.image=null dataset.element.label=null
sed 's|format: synthetic|format: npy|; s|examples: 60|train: {image: x.npy, label: y.npy, side: null}|; /element:/d' "$tiny" >"$TEST_DIR/npy.yaml"
show validate --no-data "$TEST_DIR/npy.yaml"
# Keys of the base's format and elements do not stay when they are null: they are not keys of the new one.
printf 'a,b\n1,0\n2,1\n' >"$TEST_DIR/x.csv"
cat >"$TEST_DIR/csv.yaml" <<'END'
version: 1
name: csv
dataset: {format: csv, train: x.csv, element: {x: {columns: [a]}, y: {column: b, dtype: int32}}, global_batch_size: 2}
model: {layers: [Input: {name: x, shape: [1]}, Dense: {units: 2}]}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
cat >"$TEST_DIR/synthetic.yaml" <<'END'
extends: csv.yaml
dataset: {format: synthetic, train: null, examples: 4, element: {x: {shape: [1], columns: null}, y: {num_classes: 2, column: null}}}
END
show validate "$TEST_DIR/synthetic.yaml"
