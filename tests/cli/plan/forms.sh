#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plans for programs: JSON, pictures, traces, shapes that are searched; each is read by an independent parser.
. tests/cli/setup.sh
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
"$DTRAIN" plan tests/jobs/pipeline.yaml --json >"$TEST_DIR/pipe.json" || echo "exit $?"
"$DTRAIN" trace tests/jobs/pipeline.yaml >"$TEST_DIR/pipe.trace" || echo "exit $?"
cd "$TEST_DIR" || exit 1
cat >job.yaml <<'END'
version: 1
name: abc
strategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8}}
dataset: {format: synthetic, examples: 64, element: {image: {shape: [16]}, label: {num_classes: 10}}, global_batch_size: 16}
model:
  layers: [Input: {name: image, shape: [16]}, Dense: {name: hidden, units: 32, activation: relu}, Dense: {name: logits, units: 10}]
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
exits 0 plan job.yaml --json --what-if partition.over_replicas=weights && mv out plan.json
exits 0 plan job.yaml strategy.cluster_resolver.num_slices=2 --json && mv out slices.json
exits 73 plan job.yaml --svg /dev/full
exits 0 plan job.yaml --search --json && mv out search.json
exits 0 plan job.yaml --svg -  && mv out plan.svg
exits 0 trace job.yaml && mv out trace.json
exits 0 plan job.yaml --svg file.svg
cmp plan.svg file.svg
exits 73 plan job.yaml --svg no_such_folder/file.svg
"$DTRAIN" plan job.yaml --search | sed -n '$p' | cut -c1-40
# no batch is larger than the data
"$DTRAIN" plan job.yaml --search dataset.examples=40 | sed -n 's/^   \(8 x 1\)  *\([0-9]*\) .*/\1 \2/p; /larger/p' | sort -u
exits 78 plan job.yaml --search --budget 1KiB
python3 - <<'END'
import json, xml.dom.minidom
p = json.load(open("plan.json"))
two = json.load(open("slices.json"))
print(two["slices"], abs(two["usd_per_1000_steps"] / two["step_time_s"] / (2 * p["usd_per_1000_steps"] / p["step_time_s"]) - 1) < 1e-9)
parameters = 16 * 32 + 32 + 32 * 10 + 10
device = p["logical_device"]
kinds = ["weights", "gradients", "slots", "activations", "padding"]
print(p["parameters"] == parameters, device["weights"] == 4 * parameters, device["gradients"] == 4 * parameters, device["slots"] >= 8 * parameters)
print(sum(device[k] for k in kinds) == device["total"] <= device["usable_hbm"], p["fits"])
print(abs(sum(p["parts"].values()) / p["step_time_s"] - 1) < 1e-6, sorted(p["traffic_bytes_per_link"]))
print([(x["name"], x["rows"]) for x in p["programs"]])
less = p["what_if"][0]["logical_device"]
print(p["what_if"][0]["if"], less["weights"] * 8 >= device["weights"] > less["weights"], device["gradients"] > less["gradients"])
found = json.load(open("search.json"))["candidates"]
rates = [c["examples_per_s"] for c in found if c["fits"]]
print(len(found) > 4, rates == sorted(rates, reverse=True), all(c["replicas"] == 8 for c in found))
t = json.load(open("trace.json"))
launches = [e for e in t["traceEvents"] if e["ph"] == "X"]
print(t["otherData"]["devices_written"], {e["cat"] for e in launches} == {"kernel", "collective"}, min(e["ts"] for e in launches) == 0, all(e["dur"] >= 0 for e in launches))
free = {}
for e in launches:
    track = e["pid"], e["tid"]
    if e["ts"] < free.get(track, 0) - 1e-6: print("overlap", e)
    free[track] = e["ts"] + e["dur"]
print(abs(max(e["ts"] + e["dur"] for e in launches) / 1e6 / p["step_time_s"] - 1) < 1e-5)
print(xml.dom.minidom.parse("plan.svg").documentElement.tagName)
p = json.load(open("pipe.json"))
near = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
print(near(sum(p["parts"].values()), p["step_time_s"]), near(sum(l["seconds"] for l in p["layers"]) + p["parts"]["bubble"], p["step_time_s"]))
runs = [e for e in json.load(open("pipe.trace"))["traceEvents"] if e["ph"] == "X"]
print({(e["pid"], e["name"]): sum(f["name"] == e["name"] and f["pid"] == e["pid"] for f in runs) for e in runs if e["name"] != "update"} == {
    (d, way): 4 for d in (0, 1) for way in ("forward", "backward")}, near(max(e["ts"] + e["dur"] for e in runs) / 1e6, p["step_time_s"]))
print(p["logical_device"]["weights"]) # those of one stage, as lower counts them
print(p["logical_device"]["activations"]) # beside the sums of gradients over micro-batches, not in their memory
END
