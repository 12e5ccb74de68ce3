#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/exit-codes.md, the manual page and the catalogue of errors have the same codes.
. tests/cli/setup.sh
sed -n 's/^| \([0-9, ]*\) |.*/\1/p' docs/exit-codes.md | tr -d ' ' | tr , '\n' | sort -n | grep -vE '^(130|141|143)$' >"$TEST_DIR/documented"
"$DTRAIN" man dtrain.1 | sed -n '/EXIT STATUS/,/SEE ALSO/s/^\.B \([0-9]*\)$/\1/p' | grep -vE '^(130|141|143)$' | sort -n >"$TEST_DIR/man"
{ echo 0 && sed -n 's/^DT_ERROR([A-Z_0-9]*, *[0-9]*, *\([0-9]*\),.*/\1/p' lib/base/errors.h; } | sort -nu >"$TEST_DIR/errors"
diff "$TEST_DIR/documented" "$TEST_DIR/errors" && diff "$TEST_DIR/documented" "$TEST_DIR/man" && echo "$(wc -l <"$TEST_DIR/documented") codes"
