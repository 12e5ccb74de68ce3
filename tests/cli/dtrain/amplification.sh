#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What hostile files cost: bytes in, peak memory out, for each reader (tests/cli/amplification.py has the table).
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "a sanitizer takes memory of its own" && exit 77; fi
command -v python3 >"$TEST_DIR/which" || { echo "no python3 here" && exit 77; }
case $DTRAIN in /*) program=$DTRAIN ;; *) program=$(pwd)/$DTRAIN ;; esac
python3 tests/cli/amplification.py "$TEST_DIR" "$program"
