#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: README.md docs cmd job train
# What README.md and docs/*.md show is what happens: every `$ command` of their ``` blocks, with the `> ` lines that go on with it, runs,
# in order, and must print the lines below it. Free to differ, for other machines have other cores and kernel libraries: digits after a decimal point, by a
# hundredth; numbers on the lines about cores and memory, or that a plan models; hashes, but one hash of the text is one hash of the run
# wherever it stands. A ```yaml block whose first line is a comment with a file's name, `# job.yaml`, is written to that file.
. tests/cli/setup.sh
. tests/cli/jobs.sh
needs_digits
export LC_ALL=C.UTF-8
work=$TEST_DIR/work
mkdir "$work" "$TEST_DIR/bin"
ln -s "$DTRAIN" "$TEST_DIR/bin/dtrain"
for part in configs tests build; do ln -s "$PWD/$part" "$work/$part"; done
PATH=$TEST_DIR/bin:$PATH

# Block after block, COMMAND, then what it prints: into 001.command, 001.want, ...
# shellcheck disable=SC2016
awk -v to="$TEST_DIR" '
    /^ *```/ { if (file != "") print "END_OF_FILE" > file; file = ""; first = !inside && $0 == "```yaml"; inside = !inside; name = ""; next }
    first && /^# [a-z0-9_-]+\.yaml$/ { file = sprintf("%s/%03d.command", to, ++n); printf "" > (substr(file, 1, length(file) - 7) "want"); print "cat >" $2 " <<\047END_OF_FILE\047" > file }
    { first = 0 }
    file != "" { print > file; next }
    inside && /^\$ / { name = sprintf("%s/%03d", to, ++n); print substr($0, 3) > (name ".command"); printf "" > (name ".want"); going = 1; next }
    inside && name != "" && /^> / && going { print substr($0, 3) > (name ".command"); next }
    inside && name != "" && !/^ *```/ { print > (name ".want"); going = 0 }
' README.md docs/*.md

cat >"$TEST_DIR/compare.awk" <<'AWK'
# compare.awk WANT GOT: what differs. Hashes of all commands so far stand in the file `hashes`.
BEGIN { while ((getline line < hashes) > 0) { split(line, pair, " "); run_of[pair[1]] = pair[2]; text_of[pair[2]] = pair[1] } }
function is_number(word) { return word ~ /^[0-9]+\.[0-9]+[,)]?$/ }
function is_hash(word) { return word ~ /^[0-9a-f][0-9a-f]+…$/ }
function same_hash(text, run) {
    if (!(text in run_of) && !(run in text_of)) { run_of[text] = run; text_of[run] = text; print text, run >> hashes }
    return run_of[text] == run && text_of[run] == text
}
function same_word(text, run) {
    if (is_hash(text) && is_hash(run)) return same_hash(text, run)
    return text == run || (is_number(text) && is_number(run) && text - run < 0.01 && run - text < 0.01)
}
# Of a plan what is not marked exact is a model's, whose constants move.
function is_modelled(line) {
    return line ~ /^(  (activations at|  in|padding of|total|matrix units|memory|vector units|kernel launches|waiting for)|step time|examples per|model FLOPs|1,000 steps) / ||
           line ~ /^(received over|traffic per|programs|error to|price|pipeline by|                          (z|products)) */
}
# Cores and memory are this machine's.
function masked(line) {
    if (line ~ /^device [0-9]+ \|/) return substr(line, 1, 8) " a time line"
    if (is_modelled(line)) { gsub(/[0-9.,]*[0-9]( ([KMGT]i)?B| [mu]?s)?/, "N", line); sub(/^    in .*/, "in a layer", line) }
    if (line !~ /^(devices|data|memory) /) return line
    gsub(/[0-9.]+ ([KMG]i)?B/, "N bytes", line)
    gsub(/[0-9]+ (x|per|threads?)|last step [0-9]+|[0-9]+ replicas?/, "N", line)
    return line
}
function same_line(text, run, i, n, a, b) {
    n = split(masked(text), a, " ")
    if (split(masked(run), b, " ") != n) return 0
    for (i = 1; i <= n; i++) if (!same_word(a[i], b[i])) return 0
    return 1
}
NR == FNR { want[++wanted] = $0; next }
{ if (FNR > wanted || !same_line(want[FNR], $0)) { print "shown:   " want[FNR] "\nprinted: " $0; bad = 1; exit } seen = FNR }
END { if (!bad && seen < wanted) print "shown, not printed: " want[seen + 1] }
AWK
: >"$TEST_DIR/hashes"
for command in "$TEST_DIR"/*.command; do
    name=${command%.command}
    (cd "$work" && sh "$command") >"$name.got" 2>&1 </dev/null
    awk -v hashes="$TEST_DIR/hashes" -f "$TEST_DIR/compare.awk" "$name.want" "$name.got" >"$name.differs"
    [ -s "$name.differs" ] && echo "\$ $(cat "$command")" && cat "$name.differs"
done
[ -f "$TEST_DIR/004.command" ] || echo "README.md shows no more than $(ls "$TEST_DIR"/*.command)"
