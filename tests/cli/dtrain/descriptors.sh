#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F13: standard streams that are closed at the start; F14, F15: a standard output that takes nothing.
. tests/cli/setup.sh
"$DTRAIN" help >&- || echo "closed standard output: exit $?"
"$DTRAIN" help >&- 2>&- <&- || echo "all closed: exit $?"
"$DTRAIN" help >/dev/full 2>"$TEST_DIR/err"
echo "exit $?"
cat "$TEST_DIR/err"
"$DTRAIN" --version >/dev/full 2>/dev/null
echo "exit $?"
{ "$DTRAIN" help fit 2>"$TEST_DIR/err"; echo "$?" >"$TEST_DIR/code"; } | true
case $(cat "$TEST_DIR/code") in 0 | 141) ;; *) echo "reader gone: exit $(cat "$TEST_DIR/code")" ;; esac
