#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JSON lines without a job: numbers, words, lists of one shape; null and missing keys; what is no element is left out, with a note.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
cat >all.jsonl <<'END'
{"a": [[1, 2], [3, 4]], "b": null, "c": true, "d": "x", "e": [1], "f": {"g": 1}, "h": 1.5, "i": []}
{"a": [[1, 2], [3, 4.5]], "c": false, "d": 3, "e": [1, 2], "f": 1, "b": 2, "h": 2, "j": ["x"], "k": [[1], 2]}
{"a": [[0, 0], [0, 0]], "c": false, "d": "y", "h": 3, "b": 1}
END
show data inspect all.jsonl
{ echo '[' && sed '$!s/$/,/' all.jsonl && echo ']'; } | gzip >list
"$DTRAIN" data inspect all.jsonl | tail -n +2 >lines.txt
"$DTRAIN" data inspect list | tail -n +2 | cmp lines.txt -
# As Python writes rows of a CSV file, and numbers that are missing.
cat >strings.jsonl <<'END'
{"age": "30", "size": "1.5e1", "zip": "01234", "score": NaN, "kind": "a"}
{"age": "41", "size": "-2", "zip": "99999", "score": 0.5, "kind": "b"}
{"age": "", "size": "7", "zip": "01234", "score": 2, "kind": "a"}
END
show data inspect strings.jsonl -r 1
printf '[1, 2]\n[3, 4]\n' >bare.jsonl
show data inspect bare.jsonl
for text in '{"a": 1' '{"a": }' '[1, 2]\n{"x": [3, 4]}\n' '[]' '{"a": "\351"}' '[{"a": 1}, {"a": 2}] 3' '{"a": {}}'; do
    # shellcheck disable=SC2059 # it has escapes
    printf "$text" >bad.jsonl
    show data inspect bad.jsonl
done
exit 0
