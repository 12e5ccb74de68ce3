#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F18, F19: a run directory has one job at a time. Another is refused within a second, naming host and pid; the lock of a killed job
# is free.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
"$DTRAIN" fit "$tiny" fit.epochs=10000000 --json >"$TEST_DIR/a" 2>"$TEST_DIR/err.a" &
first=$!
wait_for '"event":"step"' "$TEST_DIR/a"
before=$(date +%s%N)
exits 73 fit "$tiny"
took=$((($(date +%s%N) - before) / 1000000))
[ $took -lt 1000 ] || echo "took $took ms"
sed "s/$first/PID/; s/on $(hostname)/on HOST/; s/since .*/since TIME/" "$TEST_DIR/err" | hide
exits 73 fit "$tiny" --fresh
"$DTRAIN" fit "$tiny" --json 2>/dev/null | sed 's/.*"event":"\([a-z]*\)".*/\1/' | uniq
exits 0 fit -n "$tiny"
kill -9 $first
wait $first
exits 0 fit "$tiny"
hide <"$TEST_DIR/err"
