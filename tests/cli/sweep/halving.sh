#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Successive halving: rungs, the trials that are kept, the same for any number of jobs and after a kill; the best trial has the weights that fit gives.
. tests/cli/setup.sh
write_tiny
sed -i 's/units: 4/units: "{width}"/; s/^model:/let: {width: 4}\nmodel:/; s/epochs: 2/epochs: 9/' "$tiny"
cd "$TEST_DIR" || exit 1
sweep() { "$DTRAIN" sweep tiny.yaml let.width=4,5,6,7,8,9,10,12,16 --halving "$@"; }
sweep output.dir=a >a.out
cat a.out
sweep output.dir=b --jobs 3 -q >b.out
sed -n '/^rank/,/^9/p' a.out >a.table
sed -n '/^rank/,/^9/p' b.out | cmp - a.table
"$DTRAIN" fit a/best.yaml output.dir=f --json >f.jsonl
has a/trials.jsonl "\"rung\": 3, \"exit\": 0, \"score\": $(sed -n '$s/.*"val_loss": \([0-9.e-]*\).*/\1/p' f/history.jsonl), \"weights_sha256\": \"$(weights f.jsonl)\""
# Killed within the second rung.
sweep fit.epochs=45 output.dir=e >e.out
"$DTRAIN" sweep tiny.yaml let.width=4,5,6,7,8,9,10,12,16 --halving fit.epochs=45 output.dir=c >/dev/null 2>&1 &
for _ in $(seq 3000); do
    grep -q '"rung": 2' c/trials.jsonl 2>/dev/null && break
    sleep 0.02
done
kill -9 $!
wait $! 2>/dev/null
sed -n '/^rank/,/^9/p' e.out >e.table
sweep fit.epochs=45 output.dir=c -q | sed -n '/^rank/,/^9/p' | cmp - e.table
sort c/trials.jsonl >c.lines
sort e/trials.jsonl | cmp - c.lines
sweep output.dir=d --factor 2 fit.epochs=4 --metric val_accuracy | sed -n '1p;/rung 3/p'
"$DTRAIN" fit tiny.yaml --until-epoch 2 output.dir=u | grep -c '^epoch'
"$DTRAIN" fit tiny.yaml --until-epoch 20 output.dir=u | grep -c '^epoch'
# A trial whose value stopped being finite is last, though it trained longest.
sed -i '/"rung": 3/s/"score": [0-9.]*/"score": null/' a/trials.jsonl
sweep output.dir=a -q | sed -n 2p
sed -n 's/.*: trial \([0-9]*\) is.*/trial \1/p' a/best.yaml
