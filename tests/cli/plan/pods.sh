#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: cost topo coll
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
for price in v5p=2 v6e=1 v5p=0 v5p=nan v5p=-1 v9=1 =1; do
    echo "--price $price"
    "$DTRAIN" plan configs/published/llama3-8b.yaml --price "$price" 2>&1 | grep -E '^(1,000|price|dtrain: error)' | sed 's/^\(1,000.*\$\).*/\1 N/'
done
"$DTRAIN" plan configs/published/llama3-8b.yaml let.slice=sim:tpu7x-128 | grep -E '^(1,000|price)'
"$DTRAIN" plan configs/published/llama3-8b.yaml let.slice=sim:tpu7x-128 --json | grep -o '"usd.*"price_source": [a-z]*'
# a whole run: its parts add up, failures follow the time between them, limits decide the exit code
run() { "$DTRAIN" plan configs/published/llama3-8b.yaml --tokens 15e12 "$@"; }
run --json >"$TEST_DIR/run.json"
run --json --mtbf 1000h >"$TEST_DIR/often.json"
python3 - "$TEST_DIR/run.json" "$TEST_DIR/often.json" <<'PY'
import json, math, sys
plans = [json.load(open(path)) for path in sys.argv[1:]]
for plan, mtbf in zip(plans, (54 * 86400 * 16384 / 419, 1000 * 3600)):
    run, of_all = plan["run"], mtbf / 64
    assert run["steps"] == math.ceil(15e12 / 8192 / 128) and run["tokens"] == 15e12
    parts = run["training_s"] + run["evaluation_s"] + run["checkpoints_s"] + run["lost_s"]
    assert abs(parts / run["seconds"] - 1) < 1e-9 and abs(run["steps"] * plan["step_time_s"] / run["training_s"] - 1) < 1e-9
    assert abs(run["checkpoint_interval_s"] - math.sqrt(2 * run["checkpoint_s"] * of_all)) < 1e-6
    assert abs(run["lost_s"] - run["failures"] * (run["checkpoint_interval_s"] / 2 + 600)) < 1e-3 * run["lost_s"]
    assert abs(run["usd"] - run["seconds"] / 3600 * 64 * plan["usd_per_chip_hour"]) < 1e-6 * run["usd"]
assert plans[1]["run"]["goodput"] < plans[0]["run"]["goodput"] < 1
print("runs add up")
PY
for limit in "--deadline 700d" "--deadline 30d" "--budget-usd 5e6" "--budget-usd 1e6" "--deadline 700d --budget-usd 1"; do
    # shellcheck disable=SC2086
    run $limit >"$TEST_DIR/out" && status=0 || status=$?
    echo "$limit: exit $status" && grep -oE '^  (deadline|budget) +[a-zA-Z]*' "$TEST_DIR/out"
done
run --mtbf 1h | grep '^  takes'
for wrong in "--tokens 0" "--tokens 1e3x" "--tokens 5 --examples 5" "--deadline 3d" "--mtbf 5"; do
    # shellcheck disable=SC2086
    "$DTRAIN" plan configs/published/llama3-8b.yaml $wrong 2>&1 | head -n 1
done
"$DTRAIN" plan configs/published/resnet50.yaml --tokens 5 2>&1 | head -n 2
"$DTRAIN" plan configs/quickstart.yaml --examples 5 2>&1 | head -n 2
run --mtbf 1h --json | grep -o '"seconds": [a-z0-9]*, "usd": [a-z0-9]*'
