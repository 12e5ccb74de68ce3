#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: op train pass
# Gradients of recurrent layers with states, of attention's scores and of layers that are called again: the step of float64 models against
# differences of the loss.
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the values are those of the plain build; other cases run this code under sanitizers" && exit 77; fi
python=$(scripts/python-tools numpy safetensors) || exit 77
"$python" tests/cli/fit/gradients.py "$DTRAIN" "$TEST_DIR"
