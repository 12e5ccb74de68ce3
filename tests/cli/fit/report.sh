#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `output.report: html`: the page is there when a run ends, also one that diverged; JSON lines name it; a dry run writes none.
. tests/cli/setup.sh
write_tiny
exits 0 fit "$tiny" output.report=html -n
[ -e "$TEST_DIR/run" ] && echo "a dry run wrote"
"$DTRAIN" fit "$tiny" output.report=html | sed -n 's/^report/&/p' | hide
has "$TEST_DIR/run/report.html" '"outcome": "completed"'
"$DTRAIN" fit "$tiny" output.report=html --json | sed -n 's/.*"event":"report"/&/p' | hide
exits 79 fit "$tiny" output.report=html --fresh --inject nan@step=7
has "$TEST_DIR/run/report.html" '"outcome": "diverged"'
exits 78 fit "$tiny" output.report=pdf
sed -n 's/.*error: //p' "$TEST_DIR/err"
