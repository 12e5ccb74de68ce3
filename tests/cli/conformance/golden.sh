#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All recorded cases pass.
build=${BUILD:-build}
[ -x "$build/tests/conformance" ] || { echo "the runner is not built" && exit 77; }
"$build/tests/conformance" tests/golden >"$TEST_DIR/out" || cat "$TEST_DIR/out"
tail -n 1 "$TEST_DIR/out" | grep -qE '^[0-9]+ passed, 0 failed' || tail -n 1 "$TEST_DIR/out"
printf '{"cases": [{"id": "a/1", "op": "no_such", "in": {}, "out": {}}, {"id": "a/2", "op": "reduce", "in": {}}, 3, {"id": 4}' >"$TEST_DIR/cut.json"
"$build/tests/conformance" "$TEST_DIR/cut.json" "$TEST_DIR/none.json" | sed "s|$TEST_DIR|DIR|; s/near .*/near .../"
echo ']}' >>"$TEST_DIR/cut.json"
"$build/tests/conformance" "$TEST_DIR/cut.json"
echo "exit $?"
