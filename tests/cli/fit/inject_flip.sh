#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The bit that a flip changes is the fraction's first one, in float32 and in float64: 0.375, 1.1 in base 2 times 2^-2, becomes 0.25.
. tests/cli/setup.sh
write_tiny
for dtype in float32 float64; do
    "$DTRAIN" fit "$tiny" -q --fresh "output.dir=$TEST_DIR/run" model.layers.0.Input.dtype=$dtype dataset.element.image.dtype=$dtype \
        compile.optimizer.SGD.learning_rate=1e-30 model.layers.2.Dense.bias_initializer='{Constant: {value: 0.375}}' \
        --inject flip:worker=0@step=3 2>/dev/null || echo "exit $?"
    "$DTRAIN" ckpt inspect "$TEST_DIR/run" --json | grep -o '"name": "logits/bias", "dtype": "[F0-9]*", "shape": .3., "min": [0-9.]*, "max": [0-9.]*'
done
exit 0
