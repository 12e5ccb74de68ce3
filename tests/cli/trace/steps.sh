#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real steps by thread: output.trace writes them, `trace RUN` shows them, and a separate reader compares them with the compiled program.
. tests/cli/setup.sh
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
write_tiny
sed -i 's/shape: \[8\]/shape: [64]/; s/units: 4/units: 512/; s/examples: 60/examples: 480/; s/size: 8/size: 64/' "$tiny"
exits 0 fit "$tiny" --threads 2 'output.trace={steps: [5, 8]}' 'fit.callbacks=[EarlyStopping: {patience: 9}]'
exits 0 trace "$TEST_DIR/run"
gzip -dc "$TEST_DIR/run/trace.json.gz" | cmp - "$TEST_DIR/out"
mv "$TEST_DIR/out" "$TEST_DIR/trace.json"
exits 0 lower "$tiny" --stage executable --threads 2
cat >"$TEST_DIR/read.py" <<'END'
import collections, json, re, sys
spans, names, kinds = collections.defaultdict(list), {}, collections.Counter()
trace = json.load(open(sys.argv[1]))
ns = lambda microseconds: round(microseconds * 1000)
for e in trace["traceEvents"]:
    assert e["pid"] == 1 and e["ph"] in "MXC", e
    if e["name"] == "process_name": print(e["args"]["name"])
    if e["name"] == "thread_name": names[e["tid"]] = e["args"]["name"]
    if e["ph"] == "C": kinds[e["name"]] += 1
    if e["ph"] == "X":
        assert e["ts"] >= 0 and e["dur"] >= 0, e
        spans[e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e))
def inside(outer, what):
    return [s for s in spans[1] if s[2]["cat"] == what and outer[0] <= s[0] and s[1] <= outer[1]]
for of_thread in spans.values(): # spans of a thread lie within each other or apart
    of_thread.sort(key=lambda s: (s[0], -s[1]))
    around = []
    for s in of_thread:
        while around and around[-1][1] <= s[0]: around.pop()
        assert not around or s[1] <= around[-1][1], (around[-1], s)
        around.append(s)
print("threads:", ", ".join(n for n in names.values() if " data " not in n))
steps = [s for s in spans[1] if s[2]["name"] == "step"]
print("steps:", [s[2]["args"]["step"] for s in steps], "counters:", sorted(kinds.items()))
print("beside steps:", sorted({s[2]["name"] for s in spans[1] if s[2]["cat"] in ("fit", "callback")} - {"step"}))
want = set() # of a training step: (segment, group, step of it, piece, nodes)
for line in open(sys.argv[2]):
    words = line.split()
    if words[:1] == ["segment"]: segment = int(words[1])
    elif words[:1] == ["group"]: group, pieces, step = int(words[1][:-1]), int(words[2]), 0
    elif line.startswith("      "):
        want |= {(segment, group, step, p, tuple(re.findall("%[0-9]+", line))) for p in range(pieces)}
        step += 1
    elif line.startswith("  memory"): break
shares = []
for step in steps:
    run, = [s for s in inside(step, "run") if s[2]["name"] == "train"]
    got = collections.Counter()
    for thread in spans.values():
        for a, b, e in thread:
            if e["cat"] == "op" and run[0] <= a and b <= run[1]:
                x = e["args"]
                assert x["shape"] and x["kernel"] and e["name"] and x["from"] <= x["to"], e
                got[x["segment"], x["group"], x["step"], x["piece"], tuple(o.split()[0] for o in x["ops"])] += 1
    assert set(got) == want and set(got.values()) == {1}, (want ^ set(got))
    shares.append(sum(b - a for a, b, _ in inside(run, "op") + inside(run, "wait")) / (run[1] - run[0]))
print("each op of each step once:", len(want) > 10, "ops and waits fill a step:", max(shares) > 0.9, max(shares) <= 1)
print("lost:", trace["otherData"]["spans_lost"])
END
python3 "$TEST_DIR/read.py" "$TEST_DIR/trace.json" "$TEST_DIR/out"
echo "a run that is stopped before the last step keeps what it has; one that goes on behind it leaves the file alone"
exits 0 fit "$tiny" --fresh --steps 7 'output.trace={steps: [6, 9]}'
"$DTRAIN" trace "$TEST_DIR/run" | grep -o '"first_step": [0-9]*, "last_step": [0-9]*'
exits 0 fit "$tiny" 'output.trace={steps: [2, 3]}'
"$DTRAIN" trace "$TEST_DIR/run" | grep -o '"first_step": [0-9]*, "last_step": [0-9]*'
echo "the same weights, recorded or not"
exits 0 fit "$tiny" --fresh --json 'output.trace={steps: [1, 12]}' && weights "$TEST_DIR/out" >"$TEST_DIR/a"
exits 0 fit "$tiny" --fresh --json && weights "$TEST_DIR/out" | cmp - "$TEST_DIR/a"
