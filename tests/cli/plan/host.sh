#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plan of a job without a slice: this machine's memory, as fit announces it, and the time of a step, measured; nothing is written.
. tests/cli/setup.sh
write_tiny
show plan "$tiny" | sed -E 's/[0-9.]+ ([KMGTP]i)?B|[0-9]+ bytes/N/g; s/[0-9.]+ [mu]?s( |$)/T\1/g; s/ on this machine//; s/ \(\/[^)]*\)//; s/ +/ /g; s/[0-9]+ threads?/threads/; s/[0-9]+ timed/N timed/'
[ ! -e "$TEST_DIR/run" ] || ls "$TEST_DIR/run"
"$DTRAIN" plan "$tiny" --json --what-if dataset.global_batch_size=24 >"$TEST_DIR/json" || echo "exit $?"
sed 's/[,{]/\n/g' "$TEST_DIR/json" | sed -n 's/^ *"\(label\|name\|steps\|global_batch\|steps_per_epoch\|fits\)": \(.*\)/\1 \2/p'
# It announces what fit does, but for the program, which is measured as it stands.
for key in steps_bytes evaluation_bytes state_bytes data_bytes; do
    of_plan=$("$DTRAIN" plan "$tiny" --json | sed -n "s/.*\"$key\": *\([0-9]*\).*/\1/p")
    of_fit=$("$DTRAIN" fit "$tiny" -n --json | sed -n "s/.*\"$key\":\([0-9]*\).*/\1/p")
    [ "$of_plan" = "$of_fit" ] || echo "$key: plan $of_plan, fit $of_fit"
done
exits 78 plan "$tiny" --budget 1MiB
exits 78 plan "$tiny" 'model.layers=[Input: {name: image, shape: [8]}, Dense: {units: 1000000}, Dense: {units: 3}]' dataset.examples=2500000 dataset.global_batch_size=2000000
grep -c 'would fit' "$TEST_DIR/out"
exits 78 plan "$tiny" --svg -
