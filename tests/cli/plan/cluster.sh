#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: topo coll cost
# The cluster of docs/many-machines.md planned and drawn; what more hosts, links and devices change; what is refused. fit does not read it.
. tests/cli/setup.sh
. tests/cli/jobs.sh
job=$TEST_DIR/cluster.yaml
# shellcheck disable=SC2016 # backquotes are the page's
awk '$0 == "```yaml" { inside = 1; all = ""; next } /^```$/ { if (inside && index(all, "cluster:")) { printf "%s", all; exit } inside = 0 } inside { all = all $0 "\n" }' \
    docs/many-machines.md >"$job"
show plan "$job" | grep -v 'host arena'
show topology "$job"
show topology "$job" strategy.workers=40 strategy.replicas=20
"$DTRAIN" topology "$job" --json | grep -o '"generation": "cluster".*"twisted": false'
"$DTRAIN" topology "$job" --svg - >"$TEST_DIR/svg"
grep -c 'class="link"' "$TEST_DIR/svg"

# seconds KEY=VALUE...: of a step.
seconds() {
    "$DTRAIN" plan "$job" --json "$@" >"$TEST_DIR/json" 2>"$TEST_DIR/err" || cat "$TEST_DIR/err"
    value step_time_s "$TEST_DIR/json"
}
echo "== slower and faster"
before=$(seconds)
while read -r how words; do
    # shellcheck disable=SC2086
    awk -v a="$before" -v b="$(seconds $words)" -v how=$how 'BEGIN { exit !(how == "slower" ? b > a * 1.001 : how == "faster" ? b < a * 0.999 : b < a * 1.001 && b > a * 0.999) }' ||
        echo "$words: not $how than $before"
done <<END
slower strategy.workers=4
slower strategy.cluster.links.between=1e9
slower strategy.cluster.links.inside=1e9
slower strategy.cluster.links.latency=1e-3
slower strategy.cluster.memory_bandwidth=1e11
slower strategy.cluster.flops=1e12
faster strategy.workers=1
faster strategy.cluster.links.between=1e11
same strategy.cluster.price_per_hour=9
same strategy.cluster.memory=1e9
END
# Of a roofline: 4096 * 814,080 * 6 multiply-adds less what no gradient needs, of one device, at 1 GFLOP/s.
"$DTRAIN" plan "$job" strategy.workers=1 strategy.replicas=1 strategy.cluster.flops=1e9 strategy.cluster.links=null --json >"$TEST_DIR/json"
awk -v flops="$(sed 's/.*"received_bytes": [^,]*, "flops": \([^,]*\),.*/\1/' "$TEST_DIR/json")" -v s="$(value step_time_s "$TEST_DIR/json")" 'BEGIN { print (s > flops / 1e9 && s < 1.01 * flops / 1e9) ? "products at their rate" : s " s for " flops }'
exits 78 plan "$job" -q strategy.cluster.memory=1e6

echo "== refused"
for words in 'flops: 0, memory: 1, memory_bandwidth: 1' 'flops: 1e12' 'flops: 1e12, memory: 1e9, memory_bandwidth: 1e9, links: {between: 1e9}' \
    'flops: 1e12, memory: 1e9, memory_bandwidth: 1e9' 'flops: 1e12, memory: 1e9, memory_bandwidth: 1e9, links: {between: 1e9, inside: -1}' 'flops: fast, memory: 1e30, memory_bandwidth: 1e9'; do
    "$DTRAIN" plan "$job" "strategy.cluster={$words}" 2>&1 | grep error
done
exits 64 topology "$job" --cores-per-chip 2
exits 64 topology "$job" --fit 1,1,1,1
exits 64 plan "$job" --check-with-libtpu none.so

echo "== other ways"
"$DTRAIN" plan "$job" --tpu v4-8 | sed -n 1p
"$DTRAIN" plan "$job" --search | sed -n 1p
"$DTRAIN" trace "$job" >"$TEST_DIR/trace" 2>&1 || sed 1q "$TEST_DIR/trace"
short='dataset.examples=64 dataset.global_batch_size=32 strategy.replicas=2'
# shellcheck disable=SC2086
[ "$(hash "$job" $short "output.dir=$TEST_DIR/with")" = "$(hash "$job" $short strategy.cluster=null "output.dir=$TEST_DIR/without")" ] || echo "fit reads it"
