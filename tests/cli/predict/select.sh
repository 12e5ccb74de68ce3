#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --threshold gives the class of two, of a lone sigmoid and of a softmax; --classes-above the classes that are probable enough, in CSV and JSON lines.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy) || python=
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "a,b,alive,side,sky,sea,one,two,three"
    for (i = 0; i < 60; i++) printf "%d,%d,%s,%s,%d,%d,%d,%d,%d\n", i % 3, i % 5, (i % 3 ? "yes" : "no"), (i % 5 > 2 ? "left" : "right"), i % 2, (i % 3 > 0), (i % 3 == 0), (i % 3 == 1), (i % 3 == 2) }' >t.csv
cat >job.yaml <<'END2'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: csv
  train: t.csv
  global_batch_size: 60
  element:
    x: {columns: [a, b]}
    alive: {column: alive, vocabulary: ["no", "yes"]}
    side: {column: side, vocabulary: [left, right]}
    air: {columns: [sky, sea]}
    kind: {columns: [one, two, three]}
model:
  type: functional
  layers:
    - Input: {name: x, shape: [2]}
    - Dense: {name: alive, units: 1, activation: sigmoid, inputs: [x]}
    - Dense: {name: side, units: 2, inputs: [x]}
    - Dense: {name: air, units: 2, activation: sigmoid, inputs: [x]}
    - Dense: {name: kind, units: 3, activation: softmax, inputs: [x]}
  outputs: [alive, side, air, kind]
compile:
  optimizer: {Adam: {learning_rate: 0.05}}
  loss:
    alive: BinaryCrossentropy
    side: {SparseCategoricalCrossentropy: {from_logits: true}}
    air: BinaryCrossentropy
    kind: CategoricalCrossentropy
fit: {epochs: 3}
output: {dir: run}
END2
"$DTRAIN" fit job.yaml -q || echo "exit $?"
printf 'a,b\n0,0\n2,4\n1,2\n' >in.csv
"$DTRAIN" predict job.yaml --input in.csv -o all.jsonl -q || echo "exit $?"
for t in 0.01 0.5 0.99; do
    "$DTRAIN" predict job.yaml --input in.csv --threshold "$t" -o "t$t.jsonl" -q || echo "exit $?"
    "$DTRAIN" predict job.yaml --input in.csv --threshold "$t" -o "t$t.csv" -q || echo "exit $?"
    "$DTRAIN" predict job.yaml --input in.csv --classes-above "$t" -o "a$t.jsonl" -q || echo "exit $?"
    "$DTRAIN" predict job.yaml --input in.csv --classes-above "$t" -o "a$t.csv" -q || echo "exit $?"
done
head -n 1 t0.5.csv
head -n 1 a0.5.csv
"$DTRAIN" predict job.yaml --input in.csv --threshold 0.5 -o t.npz -q || echo "exit $?"
"$DTRAIN" ckpt inspect t.npz | sed -n 's/^ *\([a-z]*_class\) .*/\1/p'
for wrong in "--threshold 1" "--threshold 0" "--threshold half" "--classes-above -0.1" "--top 1 --threshold 0.5" "--classes-above 0.5 --top 2"; do
    # shellcheck disable=SC2086 # words
    exits 64 predict job.yaml $wrong
    head -n 1 err
done
exits 64 predict job.yaml --input in.csv --classes-above 0.5 -o a.npz
cat err
sed 's/^  outputs:.*/  outputs: [kind]/; /Dense: {name: \(alive\|side\|air\)/d; /^    \(alive: Bin\|side: {Sp\|air: Bin\)/d' job.yaml >three.yaml
"$DTRAIN" fit three.yaml compile.target=kind output.dir=three -q || echo "exit $?"
exits 64 predict three.yaml compile.target=kind output.dir=three --input in.csv --threshold 0.5
cat err
[ -n "$python" ] || exit 77
cat >compare.py <<'END2'
import csv, json
lines = lambda f: [json.loads(x) for x in open(f)]
whole = lines('all.jsonl')
def named(v):
    return v if isinstance(v, dict) else dict(enumerate(v))
for t in '0.01', '0.5', '0.99':
    decided, table = lines(f't{t}.jsonl'), list(csv.DictReader(open(f't{t}.csv')))
    above, lists = lines(f'a{t}.jsonl'), list(csv.DictReader(open(f'a{t}.csv')))
    assert len(decided) == len(table) == len(above) == len(lists) == 3
    for r, row in enumerate(whole):
        for name in 'alive', 'side':
            p = list(row[name].items())
            want = p[1] if p[1][1] >= float(t) else p[0]
            assert (decided[r][name]['class'], decided[r][name]['score']) == want, (t, r, name)
            assert (table[r][name + '_class'], float(table[r][name + '_score'])) == want
        assert decided[r]['kind'] == row['kind']
        for name in row:
            want = [(c, s) for c, s in named(row[name]).items() if s > float(t)]
            want.sort(key=lambda x: -x[1])
            assert [(x['class'], x['score']) for x in above[r][name]] == want, (t, r, name)
            assert lists[r][name + '_classes'] == '|'.join(str(c) for c, _ in want)
            assert [float(x) for x in lists[r][name + '_scores'].split('|') if x] == [s for _, s in want]
print('same')
END2
"$python" compare.py
