#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run resumes if a key is written that has the value of its default, or is left out again. Any other value is another job.
. tests/cli/setup.sh
write_tiny
again() { # OVERRIDES...
    "$DTRAIN" fit "$tiny" -q "output.dir=$TEST_DIR/run" compile.loss=categorical_crossentropy "$@" >"$TEST_DIR/out" 2>&1
    echo "exit $?: $*"
    grep -o '[a-zA-Z0-9_.]*[][0-9a-zA-Z_.]* is not what' "$TEST_DIR/out"
}
mix='dataset.map={image: [mixup], label: [one_hot: 3, mixup]}'
again "$mix" fit.epochs=1
again 'dataset.map={image: [mixup: 0.2], label: [one_hot: 3, mixup: {alpha: 0.20}]}'
again 'dataset.map={image: [mixup: {}], label: [one_hot: 3, mixup: {}]}' model.layers.1.Dense.use_bias=true compile.optimizer.SGD.nesterov=false dataset.last_batch=partial
again 'dataset.map={image: [mixup: 0.3], label: [one_hot: 3, mixup: 0.3]}'
again "$mix" model.layers.1.Dense.use_bias=false
again "$mix" compile.optimizer.SGD.nesterov=true
again "$mix" 'compile.optimizer=SGD'
again "$mix"
exit 0
