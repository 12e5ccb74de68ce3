#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Columns by range; --keep copies columns of CSV and JSON lines, between the two as well, in one process and in two; --on-error row answers bad rows with their errors, at once through a pipe.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy) || python=
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "id,a,b,word,y"; for (i = 0; i < 40; i++) printf "%d,%d,%d,%s,%d\n", i, i % 3, i % 5, (i % 2 ? "up" : "down"), i % 2 }' >t.csv
cat >job.yaml <<'END2'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: csv
  train: t.csv
  global_batch_size: 4
  element: {x: {columns: [a..b]}, word: {column: word, vocabulary: [down, up]}, y: {column: y}}
  map: {word: [one_hot: 2]}
model:
  type: functional
  layers:
    - Input: {name: x, shape: [2]}
    - Input: {name: word, shape: [2]}
    - Concatenate: {name: all, inputs: [x, word]}
    - Dense: {name: p, units: 1, activation: sigmoid, inputs: [all]}
  outputs: [p]
compile: {optimizer: SGD, loss: BinaryCrossentropy}
fit: {epochs: 1}
output: {dir: run}
END2
"$DTRAIN" fit job.yaml -q || echo "exit $?"
numbers() { sed 's/0\.[0-9][0-9.e-]*/N/g'; }
printf 'name,a,b,word,id\n"Ann, B.",1,2,up,007\n,0,1,down,8\n"say ""hi""",2,2,up,9\nDan,0,0,up,10\nEve,1,1,down,11\n' >in.csv
echo "== CSV"
"$DTRAIN" predict job.yaml --input in.csv --keep id,name | numbers
"$DTRAIN" predict job.yaml --input in.csv --keep id,name --format jsonl | numbers
"$DTRAIN" predict job.yaml --input in.csv --keep name --threshold 0.5 | sed 's/\(yes\|no\|[01]\),N/C,N/' | head -n 1
"$DTRAIN" predict job.yaml --input in.csv | cut -d , -f 1 >plain.txt
"$DTRAIN" predict job.yaml --input in.csv --keep id | cut -d , -f 2 | cmp - plain.txt
"$DTRAIN" predict job.yaml --input in.csv --keep id >one.csv
"$DTRAIN" predict job.yaml --input in.csv --keep id --workers 2 strategy.type=multi_worker_mirrored >two.csv || echo "exit $?"
cut -d , -f 1 one.csv >one.id
cut -d , -f 1 two.csv | cmp - one.id
echo "== JSON lines"
cat >in.jsonl <<'END2'
{"id": 7, "a": 1, "b": 2, "word": "up", "tags": ["x", {"y": null}], "name": "A\u00e9\n\"q\""}
{"tags": null, "name": "", "word": "down", "b": 1, "a": 0, "id": "008"}
END2
"$DTRAIN" predict job.yaml --input in.jsonl --keep id,tags,name --format jsonl | numbers
"$DTRAIN" predict job.yaml --input in.jsonl --keep id,tags,name | numbers
sed 's/"name"/"p"/' in.jsonl >p.jsonl
"$DTRAIN" predict job.yaml --input p.jsonl --keep p --format jsonl | numbers
echo "== wrong"
for keep in id,nope id,id "id," ""; do
    "$DTRAIN" predict job.yaml --input in.csv --keep "$keep" >out 2>err
    echo "exit $?, $(wc -c <out) bytes"
    head -n 2 err
done
exits 65 predict job.yaml --input in.jsonl --keep nope
cat err
exits 64 predict job.yaml --keep id
head -n 1 err
exits 64 predict job.yaml --on-error row
head -n 1 err
exits 64 predict job.yaml --input in.csv --keep id -o y.npy
head -n 1 err
echo "== bad rows of CSV"
printf 'id,a,b,word\n1,1,2,up\n2,x,2,up\n3,1,2,left\n4,1\n5,1,2,"up\n"\n6,1,2,u"p\n7,\377,2,up\n8,,2,up\n9,1,2,up\n' >bad.csv
"$DTRAIN" predict job.yaml --input bad.csv --on-error row --keep id | numbers || echo "exit $?"
"$DTRAIN" predict job.yaml --input bad.csv --on-error row --keep id --format jsonl | numbers
exits 65 predict job.yaml --input bad.csv
numbers <out
echo "== bad rows of JSON"
cat >bad.jsonl <<'END2'
{"id": 1, "a": 1, "b": 2, "word": "up"}
{"id": 2, "a": "x", "b": 2, "word": "up"}
{"id": 3, "a": 1, "b": 2, "word": "left"}
{"id": 4, "a": 1, "b": 2
{"id": 5, "a": 1, "b": 2]], "word": "up"}
{"id": 6, "a": 1, "b": 2, "word": "up
nonsense, more of it
{"a": 1, "b": 2, "word": "up"}
{"id": 9, "b": 2, "word": "up"}

{"id": 10, "a": 1, "b": 2, "word": "up"}
END2
"$DTRAIN" predict job.yaml --input bad.jsonl --on-error row --keep id --format jsonl | numbers
"$DTRAIN" predict job.yaml --input bad.jsonl --on-error row | numbers
echo '[{"a": 1, "b": 2, "word": "left"}, {"a": 1, "b": 2, "word": "up"}]' | "$DTRAIN" predict job.yaml --input - --on-error row --format jsonl | numbers
[ -n "$python" ] || exit 77
echo "== a pipe"
cat >pipe.py <<'END2'
import json, subprocess, sys
p = subprocess.Popen([sys.argv[1], 'predict', 'job.yaml', '--input', '-', '--format', 'jsonl', '--keep', 'id', '--on-error', 'row'],
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for i in range(50):
    p.stdin.write('{"id": %d, "a": 1, "b": 2, "word": "%s"}\n' % (i, 'left' if i % 3 == 1 else 'up') if i % 5 else '{"id": %d, "a": [\n' % i)
    p.stdin.flush()
    answer = json.loads(p.stdout.readline())
    assert ('error' in answer) == (i % 5 == 0 or i % 3 == 1), (i, answer)
    assert answer['id'] == i, (i, answer)
p.stdin.close()
print('50 answers, exit', p.wait())
END2
"$python" pipe.py "$DTRAIN"
