#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs that were killed, cut or damaged are shown as far as they can be read, with a note about it; hostile texts in them stay texts.
. tests/cli/setup.sh
write_tiny
run=$TEST_DIR/run
page=$TEST_DIR/page.html
"$DTRAIN" fit "$tiny" >/dev/null
cp -r "$run" "$TEST_DIR/whole"

# again: the run as it was.
again() {
    rm -rf "$run" && cp -r "$TEST_DIR/whole" "$run"
}
report() {
    "$DTRAIN" report "$run" -o "$page" -q || echo "exit $?"
}

# Killed while it wrote: half a line at the end, and no end of the attempt.
grep -v '"event": "end"' "$TEST_DIR/whole/record.jsonl" | head -c -40 >"$run/record.jsonl"
report
has "$page" '"outcome": "interrupted"'
has "$page" 'ends in the middle of a line'
has "$page" '"by_epoch": {"loss": {'

# Lines of another program, and an empty one.
again
printf '%s\n' 'no JSON' '{"event": "unheard of"}' '[]' '{"a": 1, "a": 2}' >>"$run/record.jsonl"
head -c 300 /dev/urandom | tr -d '\n' >>"$run/history.jsonl"
report
has "$page" 'record.jsonl: 4 lines could not be read and are left out'
has "$page" 'history.jsonl ends in the middle of a line'

# Older runs have no record; those without a checkpoint no ckpt/.
again
rm "$run/record.jsonl"
report
has "$page" 'no record.jsonl'
has "$page" '"outcome": "completed"'
again
rm -r "$run/ckpt"
report
again
rm -r "$run/ckpt" "$run/history.jsonl"
report
has "$page" '"by_step": {"loss": {'
again
echo '{}' >"$run/ckpt/step-00000012/state.json"
report
has "$page" 'damaged checkpoint'

# Names without end: the page has the first ones, and is there at once.
again
seq 1 60000 | sed 's/.*/{"epoch": &, "step": 1, "name &": 1}/' >"$run/history.jsonl"
report
has "$page" 'too many metrics to show'
has "$page" 'name 400'
lacks "$page" 'name 401'

# Numbers that cannot be drawn.
again
cat >>"$run/history.jsonl" <<'END'
{"epoch": 3, "step": 18, "loss": null, "accuracy": 1e308, "val_loss": -1e308}
{"epoch": 9007199254740993, "step": 24, "loss": 1e-320, "accuracy": "text", "val_loss": 5}
END
report
has "$page" '"loss": {"x": [1, 2, 3, 4], "y": ['
has "$page" ', null, 1e-320]'

# Markup in names of runs, metrics and folders, and letters that turn the direction of reading.
again
sed 's/"name": "tiny"/"name": "<script>alert(1)<\/script>\\u202e\\u0007"/; s/"strategy": "mirrored"/"strategy": "\\"><img src=x onerror=alert(2)>"/' \
    "$TEST_DIR/whole/record.jsonl" >"$run/record.jsonl"
sed 's/"accuracy"/"<b onclick=x>"/' "$TEST_DIR/whole/history.jsonl" >"$run/history.jsonl"
odd="$TEST_DIR/<img src=x>'\"&"
cp -r "$run" "$odd"
"$DTRAIN" report "$odd" -o "$page" -q
grep -oE '<(img|b)[ >][^>]*>' "$page" | sort | uniq -c | grep -v '<b>'
echo "scripts: $(grep -c '<script' "$page")"
has "$page" '<title>&#60;script&#62;alert(1)&#60;/script&#62;\u202e\x07</title>'
has "$page" '"label": "\u003cscript>alert(1)\u003c/script>\u202e\u0007"'
has "$page" '\u003cimg src=x>'
has "$page" '<th scope="row">&#60;b onclick=x&#62;</th>'
