#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# -n: everything is read, checked and compiled, nothing is written.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit -n "$tiny" --threads 2 | mask
[ ! -e "$TEST_DIR/run" ] || echo "a dry run wrote $TEST_DIR/run"
exits 78 fit -n "$tiny" fit.epochs=abc
head -n 1 "$TEST_DIR/err"
