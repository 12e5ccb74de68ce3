#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: cost
# plan --search of a run: each candidate is what plan says of its overrides, the list is the Pareto front of time and dollars, the
# work is the same for all, and limits decide the exit code.
. tests/cli/setup.sh
command -v python3 >/dev/null || exit 77
job=configs/published/decoder.yaml
small="let.layers=2 let.width=2048 let.heads=16 let.kv_heads=8 let.intermediate=8192 let.vocabulary=32000 let.sequence=2048
    let.batch=64 let.slice=sim:v5e-64 let.replicas=64"
search() {
    # shellcheck disable=SC2086
    "$DTRAIN" plan $job $small --search "$@"
}
search --tokens 1e12 --json >"$TEST_DIR/search.json" || echo "exit $?"
python3 - "$DTRAIN" $job "$small" "$TEST_DIR" <<'END'
import json, subprocess, sys
program, job, small, folder = sys.argv[1:]
found = json.load(open(folder + "/search.json"))
all_ = found["candidates"]
assert len({c["slice"].split("-")[0] for c in all_}) > 3 and len(all_) > 20, len(all_)
for c in all_:
    assert c["run"]["steps"] == all_[0]["run"]["steps"] == -(-10**12 // (2048 * 64)) and c["run"]["tokens"] == 1e12
    cost = lambda c: c["run"]["usd"]
    usual = [o for o in all_ if (cost(o) is None) == (cost(c) is None)]
    price = lambda o: cost(o) if cost(o) is not None else o["chips"] * o["run"]["seconds"]
    beaten = any(o["run"]["seconds"] <= c["run"]["seconds"] and price(o) <= price(c) and
                 (o["run"]["seconds"] < c["run"]["seconds"] or price(o) < price(c)) for o in usual)
    assert c["front"] == (not beaten), c
for c in all_[::12]:
    p = json.loads(subprocess.run([program, "plan", job, *small.split(), *c["overrides"], "--tokens", "1e12", "--json"],
                                  capture_output=True, check=True).stdout)
    assert p["fits"] and p["run"] == c["run"] and p["step_time_s"] == c["step_time_s"], c
    assert p["slice"] == c["slice"] and p["slices"] == c["slices"]
print("candidates: as plan says, the front is one")
END
search --tokens 1e12 --tpu v5e-64 strategy.cluster_resolver.num_slices=4 let.batch=256 --json >"$TEST_DIR/four.json"
python3 - "$DTRAIN" $job "$small" "$TEST_DIR" <<'END'
import json, subprocess, sys
program, job, small, folder = sys.argv[1:]
seen = set()
for c in json.load(open(folder + "/four.json"))["candidates"]:
    seen.add(c["slices"])
    p = json.loads(subprocess.run([program, "plan", job, *small.split(), "strategy.cluster_resolver.num_slices=4", "let.batch=256",
                                   *c["overrides"], "--tokens", "1e12", "--json"], capture_output=True, check=True).stdout)
    assert p["slices"] == c["slices"] and p["run"] == c["run"], c
assert 1 in seen, seen
print("a job of several slices: as plan says")
END
search --tokens 1e12 | grep -c '^tpu7x: no price is known'
search --tokens 1e12 --price tpu7x=5 | grep '^tpu7x'| tail -1
# A run of a few cents costs more than nothing.
search --tokens 3e7 --tpu v5e-64 >"$TEST_DIR/cents"
grep -o '\$ 0\.[0-9][0-9] ' "$TEST_DIR/cents" | head -n 1 | sed 's/[0-9][0-9] $/NN/'
grep -c '\$ 0 ' "$TEST_DIR/cents"
# shellcheck disable=SC2086
"$DTRAIN" plan $job $small --tokens 3e7 | grep -o ', \$ 0\.[0-9][0-9]$' | sed 's/[0-9][0-9]$/NN/'
search --tokens 1e12 --tpu v6e-64 | sed -n 's/^\(.*v6e[-0-9]*\) .*/\1/p' | sort -u
search --tokens 1e15 --deadline 1h >/dev/null
echo "a deadline that none keeps: exit $?"
search --tokens 1e12 --deadline 3650d --budget-usd 1e9 | grep -o '^the cheapest that keeps the limits'
search --tokens 1e12 --tpu v5e-64 --budget-usd 1 | grep -o '^the fastest, which misses a limit'
search --tokens 1e12 --tpu v5e-64 --mtbf 1s >"$TEST_DIR/forever"
echo "chips that fail all the time: exit $?"
grep -e '^none' -e '^the ' "$TEST_DIR/forever"
search --tokens 1e12 --budget 1KiB >/dev/null
echo "nothing fits: exit $?"
search --tokens 1e12 --price v6e >/dev/null 2>&1
echo "a price that is none: exit $?"
# a mixture's experts are divided where that is faster than to divide the features of each
mixture="let.layers=2 let.width=2048 let.heads=16 let.kv_heads=8 let.intermediate=8192 let.sequence=2048 let.batch=64 let.slice=sim:v5p-256 let.replicas=128"
# shellcheck disable=SC2086
"$DTRAIN" plan configs/published/mixtral-8x7b.yaml $mixture --search --tokens 1e12 --tpu v5p-256 --json >"$TEST_DIR/experts.json"
python3 - "$DTRAIN" "$mixture" "$TEST_DIR" <<'END'
import json, subprocess, sys
program, mixture, folder = sys.argv[1:]
candidates = json.load(open(folder + "/experts.json"))["candidates"]
best = {way: min(c["step_time_s"] for c in candidates if c["logical_devices"] > 1 and c["divides_experts"] == way) for way in (False, True)}
c = next(c for c in candidates if c["divides_experts"])
p = json.loads(subprocess.run([program, "plan", "configs/published/mixtral-8x7b.yaml", *mixture.split(), *c["overrides"], "--json"],
                              capture_output=True, check=True).stdout)
print("experts divided:", "faster" if best[True] < best[False] else best, "as plan says" if p["step_time_s"] == c["step_time_s"] else p["step_time_s"])
# a job that divides its experts already has the same candidates
divided = "let.tensor=8 let.block=[2,2,2,1] let.replicas=16 let.expert_parts=8 let.expert_rest=1 partition.sequence_parallel=true".split()
again = json.loads(subprocess.run([program, "plan", "configs/published/mixtral-8x7b.yaml", *mixture.split(), *divided, "--search", "--tokens", "1e12",
                                   "--tpu", "v5p-256", "--json"], capture_output=True, check=True).stdout)["candidates"]
times = [[(c["logical_devices"], c["divides_experts"], c["step_time_s"]) for c in some] for some in (candidates, again)]
print("from experts divided:", "the same" if sorted(times[0]) == sorted(times[1]) else times)
END
