#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
show explain DT130
"$DTRAIN" explain dt130 >"$TEST_DIR/a" && "$DTRAIN" explain 130 | cmp - "$TEST_DIR/a"
show explain
show explain 9999
show explain DT
show explain 17x
