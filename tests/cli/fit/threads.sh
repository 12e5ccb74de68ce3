#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One hash for 1, 2 and 3 threads and for 1, 2 and 4 replicas.
. tests/cli/setup.sh
write_tiny
for replicas in 1 2 4; do
    for threads in 1 2 3; do
        "$DTRAIN" fit "$tiny" --fresh --threads $threads "strategy.replicas=$replicas" --json >"$TEST_DIR/out" || echo "exit $?"
        weights "$TEST_DIR/out"
    done
done | sort -u | wc -l
