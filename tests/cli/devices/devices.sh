#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
"$DTRAIN" devices >"$TEST_DIR/a" || echo "exit $?"
has "$TEST_DIR/a" cpu
has "$TEST_DIR/a" openblas
"$DTRAIN" devices --json | cut -c 1-1
