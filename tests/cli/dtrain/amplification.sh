#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What hostile files cost: bytes in, peak memory out, for each reader (tests/cli/amplification.py has the table).
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "a sanitizer takes memory of its own" && exit 77; fi
command -v python3 >"$TEST_DIR/which" || { echo "no python3 here" && exit 77; }
case $DTRAIN in /*) program=$DTRAIN ;; *) program=$(pwd)/$DTRAIN ;; esac
if python=$(scripts/python-tools numpy h5py); then
    "$python" - "$TEST_DIR" <<'PY' || echo 'no HDF5 files'
import sys, h5py
for name in "deflated", "fill", "groups":
    with h5py.File(f"{sys.argv[1]}/{name}.h5", "w") as f:
        if name == "groups":
            for i in range(2000):
                f.create_group(f"g{i}/h")
        else:
            n = 1 << 26 if name == "deflated" else 1 << 38
            w = f.create_dataset("x/w", (n,), "f4", chunks=(1 << 20,), compression="gzip")
            for at in range(0, n if name == "deflated" else 0, 1 << 20):
                w[at : at + (1 << 20)] = 0
PY
    export HDF5_FILES="$TEST_DIR"
fi
python3 tests/cli/amplification.py "$TEST_DIR" "$program"
