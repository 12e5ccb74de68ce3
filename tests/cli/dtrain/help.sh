#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# V06: help is a result: standard output, exit 0, however it is asked for.
. tests/cli/setup.sh
show --help
"$DTRAIN" help >"$TEST_DIR/a" && "$DTRAIN" -h >"$TEST_DIR/b" && cmp "$TEST_DIR/a" "$TEST_DIR/b"
