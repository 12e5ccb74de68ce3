#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files that are not tables are named by every verb, with what to do: libsvm given as CSV, and fastText, which are not read as one column, and
# archives without arrays. Tables that look a little like them are read.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
printf '1 1:0.5 3:2\n-1 2:1\n' >a.svm
printf '\357\273\277\n3 qid:1 1:1e-3 # note\n' >ranks.txt
awk 'BEGIN { printf "-1.5"; for (i = 1; i < 100000; i++) printf " %d:%g", i, i / 7; print "" }' >long.svm
printf '__label__cat a text\n__label__dog another\n' >a.ft
printf 'PK\003\004\024\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\005\000\000\000t.csva,b\n' >a.zip
for file in a.ft a.zip; do
    show data inspect "$file"
    show data convert "$file" -o out.npz
done
[ -e out.npz ] && echo "out.npz was written"
cat >job.yaml <<'END'
version: 1
dataset: {format: csv, train: t.csv, global_batch_size: 1, element: {x: {columns: [a]}, y: {columns: [b]}}}
model: {layers: [Input: {name: x, shape: [1]}, Dense: {units: 1}]}
compile: {optimizer: sgd, loss: mse}
fit: {epochs: 1}
END
printf 'a,b\n1,2\n' >t.csv
show fit job.yaml -n dataset.train=a.svm
"$DTRAIN" -q fit job.yaml || echo "exit $?"
show evaluate job.yaml --input a.ft
show predict job.yaml --input a.svm
"$DTRAIN" predict job.yaml --input - <a.svm 2>&1 | head -n 2

# times, a job that says that blanks divide fields, and one column of texts
printf 'time,b\n10:30,1\n' >times.csv
printf '1 2:30,b\n1,2\n' >odd.csv
printf '2 3:1\n4 5:1\n' >blanks.csv
for file in times.csv odd.csv; do "$DTRAIN" data inspect "$file" -r 0 | sed -n 1p; done
"$DTRAIN" data inspect job.yaml -r 0 'dataset={format: csv, global_batch_size: 1, train: blanks.csv, header: false, field_delim: whitespace, element: {x: {columns: [0]}, y: {column: 1, vocabulary: ["3:1", "5:1"]}}}' | tail -n 2
exit 0
