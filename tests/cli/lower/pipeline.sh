#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A pipeline is drawn in time, and every op and transfer says where it is. Times come from the cost model.
. tests/cli/setup.sh
"$DTRAIN" lower tests/jobs/pipeline.yaml >"$TEST_DIR/program"
sed -n 1,6p "$TEST_DIR/program" | sed -E 's/[0-9.]+ (us|%)/N \1/g; s/\|.*\|/|...|/'
grep -o 'device [01] |.*' "$TEST_DIR/program" | grep -o '[FB][0-3]' | sort | uniq -c | sed 's/^ *//'
grep transfer "$TEST_DIR/program"
