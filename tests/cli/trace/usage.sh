#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `trace` and output.trace refuse, and slices for a job that has none.
. tests/cli/setup.sh
write_tiny
mkdir "$TEST_DIR/empty"
show trace
show trace "$TEST_DIR/empty"
show trace "$TEST_DIR/empty" seed=1
show trace "$TEST_DIR/empty" --tpu v3-8
show trace "$tiny" --tpu v3-9
for value in 7 '{steps: 7}' '{steps: [3, 2]}' '{steps: [0, 2]}' '{stpes: [1, 2]}' '{}'; do
    show validate "$tiny" "output.trace=$value" | grep -v '^ '
done
"$DTRAIN" trace "$tiny" 'strategy={type: mirrored}' --tpu v3-8 | grep -o 'plan (virtual time): [^"]*' | sed -n '1p;$p'
printf '\037\213\010\0' >"$TEST_DIR/empty/trace.json.gz"
show trace "$TEST_DIR/empty"
head -c 16 /dev/zero >"$TEST_DIR/empty/trace.json.gz"
show trace "$TEST_DIR/empty"
show fit "$tiny" -q 'output.trace={steps: [1000, 1001]}'
