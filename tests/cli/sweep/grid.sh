#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A grid: the table, the same weights as fit makes, nothing repeated, best.yaml and its data from another folder; random trials by seed.
. tests/cli/setup.sh
mkdir "$TEST_DIR/data" && cd "$TEST_DIR/data" || exit 1
awk 'BEGIN { print "x,y"; for (i = 0; i < 40; i++) print i / 40 "," i % 5 / 5 }' >t.csv
cat >job.yaml <<END
version: 1
name: swept
let: {width: 4}
dataset: {format: csv, train: t.csv, element: {x: {columns: [x]}, y: {columns: [y]}}, validation_split: 0.2, global_batch_size: 8}
model: {layers: [Input: {name: x, shape: [1]}, Dense: {units: "{width}", activation: relu}, Dense: {units: 1}]}
compile: {optimizer: {SGD: {learning_rate: 0.05}}, loss: mse}
fit: {epochs: 3}
output: {dir: run}
END
cd .. || exit 1
rate=compile.optimizer.SGD.learning_rate
show sweep data/job.yaml let.width=4,8 $rate=0.01,0.1 output.dir=s --jobs 2 -q >table
sed -n '/^rank/,/^exit/p' table
ls s
for i in 1 2 3 4; do
    set -- 4 4 8 8
    shift $((i - 1))
    width=$1
    set -- 0.01 0.1 0.01 0.1
    shift $((i - 1))
    "$DTRAIN" fit data/job.yaml let.width="$width" "$rate=$1" output.dir=f$i --json >f$i.jsonl
    has s/trials.jsonl "\"trial\": $i, \"rung\": 1, \"exit\": 0"
    has s/trials.jsonl "$(weights f$i.jsonl)"
done
# Again: no trial begins, and the table is the same.
grep -c '"start"' s/trial-*/record.jsonl >starts
"$DTRAIN" sweep data/job.yaml let.width=4,8 $rate=0.01,0.1 output.dir=s --json >again.jsonl
grep -c '"start"' s/trial-*/record.jsonl | cmp - starts
grep -c '"event":"trial"' again.jsonl
tail -n 1 again.jsonl
# The best one's job, its weights and its data, from two folders.
best=$(sed -n 's/.*"best":\([0-9]*\).*/\1/p' again.jsonl)
"$DTRAIN" fit s/best.yaml output.dir=b --json >b.jsonl
[ "$(weights b.jsonl)" = "$(weights "f$best.jsonl")" ] || echo 'best.yaml trains other weights'
exits 0 evaluate s/best.yaml
(cd s && exits 0 validate best.yaml)

# Random trials: by the seed, whatever else is swept and however many there are.
list() { "$DTRAIN" sweep data/job.yaml "$@" -n | sed -n '/^rank/,$p'; }
list $rate=log:1e-4..1e-1 let.width=4..64 --trials 5 --seed 9
list $rate=log:1e-4..1e-1 --trials 8 --seed 9 | awk 'NR > 1 { print $3 }' | head -n 5 >one
list $rate=log:1e-4..1e-1 let.width=4..64 --trials 5 --seed 9 | awk 'NR > 1 { print $3 }' | cmp - one
list let.width=1,2,3,4,5,6,7,8 --trials 8 --method random | awk 'NR > 1 { print $3 }' | sort -u | wc -l
[ -e run ] && echo 'a dry run wrote files'
# More of them continue the sweep.
"$DTRAIN" sweep data/job.yaml let.width=4..64 --trials 2 --seed 9 output.dir=m -q >/dev/null
"$DTRAIN" sweep data/job.yaml let.width=4..64 --trials 3 --seed 9 output.dir=m -q >/dev/null
grep -c '"start"' m/trial-*/record.jsonl

# The job's name may begin with a dash, and a trial has as many overrides as the sweep.
cp data/job.yaml data/-job.yaml
# shellcheck disable=SC2046 # many words
(cd data && exits 0 sweep -q -- -job.yaml $(yes fit.epochs=1 | head -n 600) let.width=4,8 output.dir=../dash)
grep -c '"exit": 0' dash/trials.jsonl
# A long value is cut off between two characters.
list "name=x,$(yes é | head -n 40 | tr -d '\n')" | tail -n 1
