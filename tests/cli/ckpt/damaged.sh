#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One file of a run is damaged at random, 24 times: no verb crashes, none gives a wrong result in silence (tests/cli/damaged.py; more by hand: a count behind it).
. tests/cli/setup.sh
command -v python3 >"$TEST_DIR/which" || { echo "no python3 here" && exit 77; }
case $DTRAIN in /*) program=$DTRAIN ;; *) program=$(pwd)/$DTRAIN ;; esac
mkdir "$TEST_DIR/damaged"
python3 tests/cli/damaged.py "$TEST_DIR/damaged" "$program" 24
