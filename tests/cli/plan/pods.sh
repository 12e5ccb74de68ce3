#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One sequence a chip takes about as long on any number of chips, 3 x 2^n of them, too: weights are cut along axes of the slice.
. tests/cli/setup.sh
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
for chips in 64 384 768 1536 3072 6144; do
    "$DTRAIN" plan configs/published/llama3-8b.yaml "let.slice=sim:v5p-$((2 * chips))" "let.replicas=$chips" "let.batch=$chips" \
        "let.examples=$chips" --json >>"$TEST_DIR/plans.jsonl"
done
python3 - "$TEST_DIR/plans.jsonl" <<'PY'
import json, statistics, sys
steps = [json.loads(line)["programs"][0]["seconds"] for line in open(sys.argv[1])]
middle = statistics.median(steps)
print(len(steps), "plans;", "all within 10 % of the median" if all(abs(s / middle - 1) < 0.1 for s in steps) else steps)
PY
# a warning names the value of over_replicas that is faster, and no advice that does not apply
"$DTRAIN" plan configs/published/llama3-8b.yaml let.slice=sim:v5p-6144 let.replicas=3072 let.batch=3072 let.examples=3072 \
    let.sequence=512 partition.over_replicas=optimizer | grep 'waits for links' | sed 's/[0-9.]* \(%\|ms\)/N \1/g'
# dollars: the table's price with its source, one that is given, none; a price that is none
for price in v5p=2 v6e=1 v5p=nan v5p=-1 v9=1 =1; do
    echo "--price $price"
    "$DTRAIN" plan configs/published/llama3-8b.yaml --price "$price" 2>&1 | grep -E '^(1,000|price|dtrain: error)' | sed 's/^\(1,000.*\$\).*/\1 N/'
done
"$DTRAIN" plan configs/published/llama3-8b.yaml let.slice=sim:tpu7x-128 | grep -E '^(1,000|price)'
"$DTRAIN" plan configs/published/llama3-8b.yaml let.slice=sim:tpu7x-128 --json | grep -o '"usd.*"price_source": [a-z]*'
