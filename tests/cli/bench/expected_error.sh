#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The errors that plan says are to be expected are those that bench finds: within 3 points, for constants are calibrated now and then.
. tests/cli/setup.sh
scripts/expected-error - >"$TEST_DIR/now"
tr -d '(",)' <lib/cost/expected_errors.h >"$TEST_DIR/then.plain"
tr -d '(",)' <"$TEST_DIR/now" >"$TEST_DIR/now.plain"
awk '/^DT_/ && NR == FNR { rows[$1 " " $2] = $3; median[$1 " " $2] = $4; worst[$1 " " $2] = $5; next }
     /^DT_/ { k = $1 " " $2; seen[k] = 1
              if (rows[k] != $3 || far(median[k], $4) || far(worst[k], $5)) print "other now: " $0 }
     function far(a, b) { return a - b > 0.03 || b - a > 0.03 }
     END { for (k in rows) if (!(k in seen)) print "gone: " k }' "$TEST_DIR/then.plain" "$TEST_DIR/now.plain"
