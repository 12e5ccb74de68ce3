#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The schema of job files and the reader of job files say the same; see schema.py.
. tests/cli/setup.sh
. tests/cli/jobs.sh
python=$(scripts/python-tools jsonschema pyyaml 2>&1) || { echo "$python" && exit 77; }
export TINYSHAKESPEARE="$TEST_DIR/t.txt" TEXT="$TEST_DIR/t.txt"
if sanitized; then export MUTANTS=30; fi
"$python" tests/cli/config/schema.py "$DTRAIN" "$TEST_DIR" configs/*.yaml configs/published/*.yaml tests/jobs/*.yaml README.md docs/*.md
"$DTRAIN" config schema | grep -q '"npy", "npz"' || echo "the schema lacks the other name of npy"
exits 64 config schema job.yaml
