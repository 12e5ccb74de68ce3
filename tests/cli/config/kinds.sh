#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An override that names another optimizer or loss replaces the file's, as in a job that extends it. If it names the same one, the other arguments stay.
. tests/cli/setup.sh
write_tiny
sed -i 's/SGD: {learning_rate: 0.05}/SGD: {learning_rate: 0.05, momentum: 0.5}/' "$tiny"
sed 's/optimizer: {SGD: .*}}/optimizer: adam/; s/loss: {.*/loss: sparse_categorical_crossentropy/' "$tiny" >"$TEST_DIR/brief.yaml"

# compiled JOB OVERRIDES: what it comes to
compiled() {
    job=$1
    shift
    echo "\$ $*"
    "$DTRAIN" config show "$TEST_DIR/$job" "$@" 2>&1 | sed -n '/optimizer:/,/metrics:/{/metrics:/d;p;}; /error/p'
    exits 0 validate --no-data "$TEST_DIR/$job" "$@"
}
compiled tiny.yaml compile.optimizer.SGD.learning_rate=0.1
compiled tiny.yaml compile.optimizer.sgd.learning_rate=0.1
compiled tiny.yaml compile.optimizer.Adam.learning_rate=0.1 compile.optimizer.Adam.beta_1=0.8
compiled tiny.yaml compile.optimizer.Adam=
compiled brief.yaml compile.optimizer.Adam.learning_rate=0.1
compiled brief.yaml compile.optimizer.SGD.learning_rate=0.1
compiled brief.yaml compile.loss.SparseCategoricalCrossentropy.from_logits=true
compiled tiny.yaml compile.loss.CategoricalCrossentropy.label_smoothing=0.1

# of outputs the losses stand side by side
cat >"$TEST_DIR/two.yaml" <<END
extends: tiny.yaml
model:
  type: functional
  layers:
    - Input: {name: image, shape: [8]}
    - Dense: {units: 3, name: kind, inputs: image}
    - Dense: {units: 8, name: side, inputs: image}
  outputs: [kind, side]
dataset: {element: {kind: {num_classes: 3}, side: {shape: [8]}, label: null}}
compile: {loss: {kind: {SparseCategoricalCrossentropy: {from_logits: true}}}, metrics: null}
END
sed -i '/^ *loss:/d; /metrics:/d' "$tiny"
compiled two.yaml compile.loss.side=mse compile.loss.kind.SparseCategoricalCrossentropy.ignore_class=0
# elsewhere what is too much is told where it is said
show validate "$TEST_DIR/brief.yaml" model.layers.1.LSTM.units=4 compile.optimizer.Adamm.learning_rate=0.1
# two overrides of different kinds: neither goes unheard
show validate "$tiny" compile.optimizer.Adam.learning_rate=0.5 compile.optimizer.SGD.momentum=0.9
# an argument beside its kind
show validate "$tiny" compile.optimizer.momentum=0.9
