#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rows of our own in the words of published ones: by a rule, by a formula, and rows that do not say enough.
. tests/cli/setup.sh
cat >"$TEST_DIR/rows.json" <<'ROWS'
{"rows": [
{"id": "load", "kind": "worked-problem", "source": "notes, a Q1", "question": "8e9 bf16 parameters over 4 v4 chips: time to load all from HBM once",
 "inputs": {}, "formula": "params*2/chips/hbm", "answer": 0.00333, "unit": "s"},
{"id": "load-f32", "kind": "worked-problem", "source": "notes, a Q1", "question": "same in float32", "inputs": {}, "formula": "2*params*2/chips/hbm",
 "answer": 0.00667, "unit": "s"},
{"id": "odd", "kind": "worked-problem", "source": "notes, b Q1", "question": "how many, with D=16", "inputs": {"per": 4}, "formula": "D/per",
 "answer": 4, "unit": "things"},
{"id": "unknown", "kind": "worked-problem", "source": "notes, c Q1", "question": "how many", "inputs": {}, "formula": "all*of/them", "answer": 1,
 "unit": "things"},
{"id": "other", "kind": "weather", "measured": 20, "unit": "C"}
]}
ROWS
show bench --simulator "$TEST_DIR/rows.json"
show bench --simulator "$TEST_DIR/rows.json" --json
