# SPDX-License-Identifier: Apache-2.0
"""Where the time of a step goes: shares of what all computing threads have, from recordings of `output.trace` (docs/trace.md).

    steps.py NAME MFLOP PEAK RECORD...     one row: medians of several recordings; MFLOP: of the products of a step; PEAK: GFLOP/s of all threads, 0: not known

A step begins where the one before it begins: the time between them is printed, too. Joins: a thread waits for another one, or wakes it. Rest: threads that have nothing to do
outside of a step's program, history and callbacks, and the program's own way from one span to the next.
"""
import gzip
import json
import statistics
import sys

KINDS = {
    "products": {"dot", "dot_batch", "tree", "tree_by_eval", "convolution", "kernel_gradient", "kernel_gradient_part", "attention", "attention_grad"},
    "elements": {"fused", "random"},
}
COLUMNS = ["products", "optimizer", "elements", "others", "joins", "data", "rest"]


def kind_of(span):
    if span["cat"] == "wait":
        return "joins"
    kernel, layer = span["args"]["kernel"], span["args"]["layer"]
    for kind, kernels in KINDS.items():
        if kernel in kernels:
            return "optimizer" if kind == "elements" and layer.startswith("optimizer") else kind
    return "others"


def shares(path):
    """(microseconds of a step, {column: part of all threads' time}) of one recording"""
    with gzip.open(path) as f:
        spans = [e for e in json.load(f)["traceEvents"] if e["ph"] == "X"]
    steps = sorted((e["ts"], e["dur"]) for e in spans if e["cat"] == "fit" and e["name"] == "step")
    begin, end = steps[0][0], steps[-1][0]
    within = [e for e in spans if begin <= e["ts"] < end]
    lanes = {e["tid"] for e in within if e["cat"] == "op"}
    all_time = (end - begin) * len(lanes)
    spent = dict.fromkeys(COLUMNS, 0.0)
    for e in within:
        if e["cat"] == "op" or (e["cat"] == "wait" and e["tid"] in lanes):
            spent[kind_of(e)] += e["dur"]
        elif e["cat"] == "fit" and e["name"] == "wait for data":
            spent["data"] += e["dur"]
    spent["rest"] = all_time - sum(spent.values())
    return (end - begin) / (len(steps) - 1), {k: v / all_time for k, v in spent.items()}, len(lanes)


def main():
    name, mflop, peak = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    found = [shares(path) for path in sys.argv[4:]]
    step = statistics.median(f[0] for f in found)
    part = {k: statistics.median(f[1][k] for f in found) for k in COLUMNS}
    row = [name, f"{step:,.0f}"] + [f"{100 * part[k]:.1f}" for k in COLUMNS]
    if peak > 0:
        of_peak = mflop / step / peak * 1e3
        row += [f"{100 * of_peak:.0f} %", f"{100 * of_peak / part['products']:.0f} %"]
    print("| " + " | ".join(row) + " |")


main()
