#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All recorded cases, where they are at hand.
build=${BUILD:-build}
[ -x "$build/tests/conformance" ] || { echo "the runner is not built" && exit 77; }
[ -d ../shared/golden ] || { echo "no ../shared/golden" && exit 77; }
"$build/tests/conformance" ../shared/golden >"$TEST_DIR/out" || { cat "$TEST_DIR/out" && exit 1; }
tail -n 1 "$TEST_DIR/out" | sed 's/^[1-9][0-9]* passed, \([0-9]*\) failed.*/\1 failed/'
