#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The reference pages are those that scripts/reference makes of the public headers, and what the other pages name is there.
. tests/cli/setup.sh
scripts/reference "$TEST_DIR/reference"
if diff -r "$TEST_DIR/reference" docs/reference >"$TEST_DIR/out"; then
    echo "docs/reference is up to date"
else
    echo "docs/reference is stale; run scripts/reference:"
    head -n 20 "$TEST_DIR/out" | hide
fi
grep -oE 'dt_[a-z0-9]+_[a-z0-9_]+' docs/coming-from-tensorflow.md | sort -u | while read -r name; do
    grep -q "$name" lib/dtrain/*.h || [ "$name" = dt_x_unref ] || echo "docs/coming-from-tensorflow.md: there is no $name"
done
