#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page's numbers, curves and tags read by an independent parser, against the run's record: one epoch, many, several attempts.
. tests/cli/setup.sh
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
write_tiny
run=$TEST_DIR/run
for epochs in 1 2 40; do
    "$DTRAIN" fit "$tiny" "fit.epochs=$epochs" --fresh >/dev/null
    "$DTRAIN" report "$run" -q
    python3 tests/report/pages.py numbers "$run/report.html" "$run" || echo "of $epochs epochs"
done
"$DTRAIN" fit "$tiny" fit.epochs=3 fit.validation_freq=2 --fresh >/dev/null
"$DTRAIN" report "$run" -q
python3 tests/report/pages.py numbers "$run/report.html" "$run"
