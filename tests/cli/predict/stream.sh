#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Standard input to standard output: every format gives the same digits, rows are answered as they come, a reader that goes away ends it with 74.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit "$tiny" -q || echo "exit $?"
predict="$DTRAIN predict $tiny --input"
cat >"$TEST_DIR/x.csv" <<END
1,2,3,4,5,6,7,8
-0.5,0.25,1e-3,0,0,0,0,0
8,7,6,5,4,3,2,1
END
sed 's/.*/[&]/' "$TEST_DIR/x.csv" >"$TEST_DIR/x.jsonl"
sed 's/\(.*,.*,.*,[^,]*\),\(.*,.*,.*,.*\)/{"note": "kept out", "image": [[\1], [\2]]}/' "$TEST_DIR/x.csv" >"$TEST_DIR/y.jsonl"
{ echo 'a,b,c,d,"e",f,g,h' && cat "$TEST_DIR/x.csv"; } >"$TEST_DIR/h.csv"
gzip -c "$TEST_DIR/h.csv" >"$TEST_DIR/z"
$predict "$TEST_DIR/x.csv" >"$TEST_DIR/out"
cut -d, -f1 "$TEST_DIR/out" | head -n 1
wc -l <"$TEST_DIR/out"
for file in x.csv h.csv z x.jsonl y.jsonl; do
    $predict "$TEST_DIR/$file" | cmp "$TEST_DIR/out" - || echo "$file: other rows"
    # shellcheck disable=SC2002 # a pipe is wanted
    cat "$TEST_DIR/$file" | $predict - | cmp "$TEST_DIR/out" - || echo "$file through a pipe: other rows"
done
# what was written is read again, whatever its form
for form in csv npy jsonl; do
    $predict "$TEST_DIR/x.csv" -o "$TEST_DIR/a.$form" | hide
    $predict "$TEST_DIR/x.csv" -o "$TEST_DIR/b" --format $form -q && cmp "$TEST_DIR/a.$form" "$TEST_DIR/b"
done
$predict - -o "$TEST_DIR/pipe.npy" -q <"$TEST_DIR/x.csv"
wc -c <"$TEST_DIR/pipe.npy"
exits 64 predict "$tiny" --input "$TEST_DIR/x.csv" --format npy
"$DTRAIN" predict "$tiny" --format npy | wc -c
# a header alone is no file of no rows
echo a,b,c,d,e,f,g,h >"$TEST_DIR/none.csv"
for form in csv npy npz jsonl; do
    exits 65 predict "$tiny" --input "$TEST_DIR/none.csv" -o "$TEST_DIR/nothing.$form"
    [ ! -e "$TEST_DIR/nothing.$form" ] || echo "nothing.$form was written"
done
# a row is answered before the next one is written: the second is the first one's answer
mkfifo "$TEST_DIR/to" "$TEST_DIR/from"
$predict - --top 1 <"$TEST_DIR/to" >"$TEST_DIR/from" &
exec 4>"$TEST_DIR/to" 5<"$TEST_DIR/from"
for row in 1,2,3,4,5,6,7,8 8,7,6,5,4,3,2,1; do
    echo "$row" >&4
    [ -n "$header" ] || read -r header <&5
    read -r answer <&5
    echo "$row $(echo "$answer" | tr -dc ,)"
done
exec 4>&-
wait $!
echo "$header, exit $?"
# without end, to a reader that goes away
yes 1,2,3,4,5,6,7,8 | { $predict - 2>"$TEST_DIR/err" || echo "exit $?" >"$TEST_DIR/code"; } | head -n 2 | wc -l
cat "$TEST_DIR/code" "$TEST_DIR/err"
# what is wrong with rows
while IFS='|' read -r code text; do
    printf '%b' "$text" >"$TEST_DIR/bad"
    exits "$code" predict "$tiny" --input "$TEST_DIR/bad"
    sed 's/^dtrain: error: //' "$TEST_DIR/err" | hide
done <<END
78|1,2\n
65|1,2,3,4,5,6,7,8\n1,2,3\n
65|1,2,3,4,5,6,7,8\n1,2,3,4,5,6,7,x\n
65|1,2,3,4,5,6,7,8\n1,2,3,4,5,6,7,1e99\n
65|1,2,3,4,5,6,7,8\n1,2,3,4,5,6,7,\n
65|a,b,c,d,e,f,g,"h\n
65|1,,3,4,5,6,7,8\n8,7,6,5,4,3,2,1\n
65|a,b,c,d,e,f,g,8\n8,7,6,5,4,3,2,1\n
65|,,,,,,,\n8,7,6,5,4,3,2,1\n
65|nan,nan,nan,nan,nan,nan,nan,nan\n8,7,6,5,4,3,2,1\n
65|a,b,c,d,e,f,g,h\n
65|[1,2]\n
65|[1,2,3,4,5,6,7,[8,9]]\n
65|[1,2,3,4,5,6,7,"x"]\n
65|{"imag": 1}\n
65|{"image": 1\n
65|[1,2,3,4,5,6,7,1e400]\n
65|
65|\0211HDF\r\n\0032\n
65|\0037\0213\0010\0000
65|\0223NUMPY\0001\0000
65|\0000\0000\0015\0002\0000\0000\0000\0002
65|PK\0003\0004
END
