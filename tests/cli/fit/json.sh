#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JSON lines: the events and their keys, steps counted from 1, the end always last.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit "$tiny" --json --every-step >"$TEST_DIR/a" || echo "exit $?"
sed 's/"v":1,"event":"\([a-z]*\)".*/\1/; s/^{//' "$TEST_DIR/a" | uniq -c | sed 's/^ *//'
sed -n 's/,"loss.*//; s/.*"event":"step",//p' "$TEST_DIR/a" | tail -n 1
for event in start step epoch eval checkpoint end; do
    grep -m 1 "\"event\":\"$event\"" "$TEST_DIR/a" | grep -o '"[a-z_0-9]*":' | tr -d '\n'
    echo
done
tail -n 1 "$TEST_DIR/a" | mask
"$DTRAIN" fit "$tiny" --json --every-step >"$TEST_DIR/b" || echo "exit $?"
grep -c '"event":"step"' "$TEST_DIR/b"
[ "$(weights "$TEST_DIR/a")" = "$(weights "$TEST_DIR/b")" ] || echo "other weights when nothing is trained"
"$DTRAIN" fit "$tiny" model.layers=x --json 2>/dev/null | tail -n 1
