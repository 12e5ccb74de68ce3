#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
show bench
show bench rows.json
show bench --simulator "$TEST_DIR/none.json"
printf '{"rows": [' >"$TEST_DIR/cut.json"
show bench --simulator "$TEST_DIR/cut.json"
printf '{"rows": 3}' >"$TEST_DIR/number.json"
show bench --simulator "$TEST_DIR/number.json"
printf '{"rows": [{"id": "a", "kind": "b"}]}' >"$TEST_DIR/empty.json"
show bench --simulator "$TEST_DIR/empty.json"
