#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: train format
# Event files, read back by TensorBoard's own reader: tags, steps, plug-ins; values are those of history.jsonl. A run that was stopped and went on
# has every step once.
. tests/cli/setup.sh
python=$(scripts/python-tools tensorboard) || exit 77
write_tiny
cat >"$TEST_DIR/read.py" <<'END'
import json, math, sys
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util

def read(folder):
    a = event_accumulator.EventAccumulator(folder, size_guidance={event_accumulator.TENSORS: 0})
    a.Reload()
    return a

history = [json.loads(line) for line in open(sys.argv[1] + "/history.jsonl")]
wrong = 0
for side in ("train", "validation"):
    a = read(sys.argv[1] + "/tb/" + side)
    for tag in sorted(a.Tags()["tensors"]):
        events = a.Tensors(tag)
        plugin = a.SummaryMetadata(tag).plugin_data.plugin_name
        print(side, tag, plugin, "steps", *[e.step for e in events])
        for e in events:
            value = tensor_util.make_ndarray(e.tensor_proto)
            key = ("val_" if side == "validation" else "") + tag[len("epoch_"):]
            if plugin == "histograms":
                wrong += value.shape != (30, 3) or not math.isclose(value[:, 2].sum(), 32 if "kernel" in tag and tag.startswith("dense/") else value[:, 2].sum())
            elif tag.startswith("epoch_") and key in history[e.step]:
                wrong += not math.isclose(float(value), history[e.step][key], rel_tol=1e-6)
print("wrong values:", wrong)
END
# run FOLDER WORDS...
run() {
    folder=$TEST_DIR/$1
    shift
    "$DTRAIN" fit "$tiny" -q fit.epochs=4 "output.dir=$folder" "$@" || echo "exit $?"
}
run one output.tensorboard=true
"$python" "$TEST_DIR/read.py" "$TEST_DIR/one" 2>"$TEST_DIR/err" || cat "$TEST_DIR/err"
often='fit.callbacks=[TensorBoard: {update_freq: 3, histogram_freq: 2, log_dir: tb}]'
run two "$often" --steps 8
run two "$often" --steps 15
run two "$often"
find "$TEST_DIR/two/tb/train" -type f | wc -l
"$python" "$TEST_DIR/read.py" "$TEST_DIR/two" 2>"$TEST_DIR/err" || cat "$TEST_DIR/err"
