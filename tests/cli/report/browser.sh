#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a headless browser: light and dark, wide and as narrow as a telephone: no word on its console, no request, nothing cut off, nothing pale, curves there with and
# without the script, values under the keyboard. One run, a diverged one, one epoch, several runs, a slice.
. tests/cli/setup.sh
. tests/cli/jobs.sh
sanitized && echo "the page is the same without sanitizers" && exit 77
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "no chromium here" && exit 77; }
write_tiny
fit() {
    name=$1
    shift
    "$DTRAIN" fit "$tiny" "output.dir=$TEST_DIR/$name" "$@" >/dev/null 2>&1
    "$DTRAIN" report "$TEST_DIR/$name" -q -o "$TEST_DIR/$name.html"
}
fit one fit.epochs=1
fit many fit.epochs=60 seed=2
fit diverged fit.epochs=4 --inject nan@step=14
fit slice 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}'
"$DTRAIN" report "$TEST_DIR/one" "$TEST_DIR/many" "$TEST_DIR/slice" -q -o "$TEST_DIR/several.html"
cd "$TEST_DIR" || exit 1
timeout 300 python3 "$OLDPWD/tests/report/pages.py" browser "$chromium" one.html many.html diverged.html slice.html several.html
