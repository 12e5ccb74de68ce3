#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: cost coll topo pass
# The errors that plan says are to be expected are those of published steps, as scripts/published finds them; rows that lack something.
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the numbers are those of the plain build; other cases run this code under sanitizers" && exit 77; fi
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
scripts/published --table | diff lib/cost/expected_errors.h - || echo "write it: scripts/published --table"
cat >"$TEST_DIR/rows.json" <<'ROWS'
{"rows": [
{"id": "bert", "kind": "compiler-memory", "config": {"model": "BERT-large, seq 512", "topology": "v4:2x2x1", "per_device_batch": 4}, "measured": 1e10, "unit": "B"},
{"id": "images", "kind": "train-throughput", "config": {"model": "ResNet-50 v1.5", "accelerator": "v3-8", "global_batch": 1024}, "measured": 8000, "unit": "images/s"},
{"id": "nowhere", "kind": "train-throughput", "config": {"model": "ResNet-50", "accelerator": "v9-8", "global_batch": 8}, "measured": 1, "unit": "images/s"},
{"id": "no-chips", "kind": "time-to-train", "config": {"model": "BERT-large", "train_samples_logged": 8}, "measured": 1, "unit": "s"},
{"id": "no-sizes", "kind": "train-step", "config": {"accelerator": "v4-8", "seq": 8}, "measured": 1, "unit": "s"},
{"id": "other", "kind": "weather", "measured": 20, "unit": "C"}
]}
ROWS
scripts/published "$TEST_DIR/rows.json"
scripts/published --other 2>&1 | head -1
