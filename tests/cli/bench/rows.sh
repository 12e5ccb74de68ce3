#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rows of our own in the words of published ones, and rows that do not say enough.
. tests/cli/setup.sh
cat >"$TEST_DIR/rows.json" <<'ROWS'
{"rows": [
{"id": "copy", "kind": "measured-op", "config": {"op": "HBM copy f32 8192x8192", "chip": "v5e"}, "measured": 0.0008, "unit": "s"},
{"id": "product", "kind": "measured-op", "config": {"op": "matmul bf16 8192^3", "chip": "v6e"}, "answer": 800, "unit": "TFLOP/s"},
{"id": "gather", "kind": "measured-op", "config": {"op": "AllGather_Y bf16[2048,8192]", "slice": "v5e mesh X8 Y4"}, "measured": 0.0007, "unit": "s"},
{"id": "nowhere", "kind": "measured-op", "config": {"op": "matmul bf16 8192^3"}, "measured": 1, "unit": "s"},
{"id": "other", "kind": "weather", "measured": 20, "unit": "C"}
]}
ROWS
show bench --simulator "$TEST_DIR/rows.json"
show bench --simulator "$TEST_DIR/rows.json" --json
