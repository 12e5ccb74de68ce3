#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a headless browser: light and dark, wide and as narrow as a telephone: nothing on its console, no request, nothing cut off, enough contrast, curves, and
# a table where scripts are off; values by the keyboard. One run, a diverged one, one epoch, several runs, a slice, a hostile one.
. tests/cli/setup.sh
. tests/cli/jobs.sh
sanitized && echo "the page is the same without sanitizers" && exit 77
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "no chromium here" && exit 77; }
write_tiny
fit() {
    name=$1
    shift
    "$DTRAIN" fit "$tiny" "output.dir=$TEST_DIR/$name" "$@" >/dev/null 2>&1
    "$DTRAIN" report "$TEST_DIR/$name" -q -o "$TEST_DIR/$name.html"
}
fit one fit.epochs=1
fit many fit.epochs=60 seed=2
fit diverged fit.epochs=4 --inject nan@step=14
fit slice 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}'
"$DTRAIN" report "$TEST_DIR/one" "$TEST_DIR/many" "$TEST_DIR/slice" -q -o "$TEST_DIR/several.html"
"$DTRAIN" sweep "$tiny" seed=1,2,3,4,5,6,7,8,9,10,11,12 "output.dir=$TEST_DIR/sweep" >/dev/null 2>&1
cp "$TEST_DIR/sweep/sweep.html" "$TEST_DIR/twelve.html"
# What is hostile stays text; what is of another type than it should be is none.
cp -r "$TEST_DIR/one" "$TEST_DIR/hostile"
sed -i 's/"name": "tiny"/"name": "<script>alert(1)<\/script>\\u202e"/; s/"strategy": "[a-z]*"/"strategy": "\\"><img src=x onerror=alert(2)>"/
    s/"device": "[^"]*"/"device": {"onclick": "alert(3)", "toString": 1}/; s/"seed": "[0-9]*"/"seed": [{"constructor": null}]/
    s/"classes": {}/"classes": {"accuracy": "<b onclick=x>"}/; s/"replicas": [0-9]*/"replicas": "<i>"/' "$TEST_DIR/hostile/record.jsonl"
sed -i 's/"loss"/"constructor": 1, "__proto__": 2, "<b onclick=x>": 3, "loss"/' "$TEST_DIR/hostile/history.jsonl"
"$DTRAIN" report "$TEST_DIR/hostile" -q -o "$TEST_DIR/hostile.html"
"$DTRAIN" report "$TEST_DIR/many" "$TEST_DIR/hostile" -q -o "$TEST_DIR/beside.html"
cd "$TEST_DIR" || exit 1
timeout 300 python3 "$OLDPWD/tests/report/pages.py" browser "$chromium" one.html many.html diverged.html slice.html several.html twelve.html hostile.html beside.html || exit
python3 "$OLDPWD/tests/report/pages.py" words "$chromium" hostile.html >hostile.txt
for text in '<script>alert(1)</script>\u202e' '"><img src=x onerror=alert(2)>' 'accuracy (<b onclick=x>)'; do has hostile.txt "$text"; done

# --metric marks another run.
"$DTRAIN" report one many -q --metric val_accuracy -o marked.html
"$DTRAIN" report one many -q --metric loss -o by_loss.html
for page in marked.html by_loss.html; do
    python3 "$OLDPWD/tests/report/pages.py" words "$chromium" "$page" | grep -o 'best [a-z_]*[a-z]' | head -n 1
done

# A metric of one class has the class's name in the table of all runs, where the runs agree on it.
awk 'BEGIN { print "x,kind"; for (i = 0; i < 40; i++) print i % 2 + i / 100 "," (i % 2 ? "lily" : "iris") }' >kinds.csv
for run in one_kind two_kind other_kind; do
    [ $run = other_kind ] && names='lily, iris' || names='iris, lily'
    cat >kinds.yaml <<END
version: 1
dataset:
  {format: csv, train: kinds.csv, element: {x: {columns: [x]}, kind: {column: kind, vocabulary: [$names]}}, map: {kind: [one_hot: {num_classes: 2}]}, global_batch_size: 8}
model: {layers: [Input: {name: x, shape: [1]}, Dense: {units: 2}]}
compile: {optimizer: sgd, loss: {CategoricalCrossentropy: {from_logits: true}}, metrics: [F1Score]}
fit: {epochs: 2}
output: {dir: $run}
END
    "$DTRAIN" fit kinds.yaml -q
done
for second in two_kind other_kind; do
    "$DTRAIN" report one_kind $second -q -o kinds.html
    echo "$second: $(python3 "$OLDPWD/tests/report/pages.py" titles "$chromium" kinds.html | grep f1_score_0)"
done

# All folds of a job have a row of means, which are those that fit prints; two of three have none, and a fold is not the best one.
"$DTRAIN" fit kinds.yaml dataset.validation_folds=3 output.dir=folds -q
"$DTRAIN" report folds/fold-1 folds/fold-2 -q -o two_folds.html
python3 "$OLDPWD/tests/report/pages.py" words "$chromium" folds/folds.html | tr '\n' ' ' >folds.txt
python3 "$OLDPWD/tests/report/pages.py" words "$chromium" two_folds.html | grep 'mean of'
python3 - <<'END'
import json, re
words = open("folds.txt").read()
mean = json.load(open("folds/folds.json"))["metrics"]["val_loss"]
shown = re.search(r"mean of 3 folds\s+([0-9.]+)\s*std ([0-9.]+)", words)
for want, got in zip((mean["mean"], mean["std"]), shown.groups() if shown else ("no row", "")):
    print(got if not shown or abs(float(got) - want) > 1e-4 else "as fit prints it")
print("marked" if "best val_loss" in words else "no fold is marked")
END
