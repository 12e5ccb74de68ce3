#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of one run: where it is written, what it names, that it needs no other file.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit "$tiny" >/dev/null
show report "$TEST_DIR/run"
page=$TEST_DIR/run/report.html
sha=$(sed -n 's/.*"event": "end".*"weights_sha256": "\([0-9a-f]*\)".*/\1/p' "$TEST_DIR/run/record.jsonl")
job=$(sed -n 's/.*"job_sha256": "\([0-9a-f]*\)".*/\1/p' "$TEST_DIR/run/record.jsonl")
loss=$(sed -n '$s/.*"val_loss": \([0-9.e-]*\).*/\1/p' "$TEST_DIR/run/history.jsonl")
for text in '<title>tiny</title>' "$sha" "$job" "\"val_loss\": {\"last\": $loss" '"by_epoch": {"loss": {"x": [1, 2]' '"accuracy": {"x": [1, 2]' \
    '"by_step": {"loss": {' '"learning_rate": {' '"examples_per_s": {' '"step_ms": {' '"outcome": "completed"' 'mirrored' 'step-00000012' 'DIR/tiny.yaml:19' "default-src 'none'"; do
    has "$page" "$(echo "$text" | sed "s|DIR|$TEST_DIR|")"
done
grep -oE '(src|href)="[^"#][^"]*|@import|url\(' "$page"
"$DTRAIN" report "$TEST_DIR/run" -o - >"$TEST_DIR/stdout.html"
cmp "$page" "$TEST_DIR/stdout.html"
(cd "$TEST_DIR" && "$DTRAIN" report run -q -o elsewhere.html && ls elsewhere.html)
