#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/ci.md from an empty folder: every command of its pipelines runs, in order; then a model that became worse, which exit code 80 stops.
. tests/cli/setup.sh
page=$PWD/docs/ci.md
mkdir "$TEST_DIR/bin" "$TEST_DIR/work"
ln -s "$DTRAIN" "$TEST_DIR/bin/dtrain"
export PATH="$TEST_DIR/bin:$PATH" GITHUB_STEP_SUMMARY="$TEST_DIR/step.md"
cd "$TEST_DIR/work" || exit 1
awk 'BEGIN { print "length,width,kind"; for (i = 0; i < 90; i++) { k = i % 3; print k + i % 7 / 10 "," 2 - k + i % 5 / 10 "," (k == 0 ? "iris" : k == 1 ? "lily" : "rose") } }' >flowers.csv
cat >job.yaml <<'END'
version: 1
dataset:
  format: csv
  train: flowers.csv
  validation_split: {fraction: 0.2, stratify: kind}
  element: {x: {columns: [length, width]}, kind: {column: kind, vocabulary: [iris, lily, rose]}}
  map: {x: [normalize]}
  global_batch_size: 10
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 3}]}
compile: {optimizer: {Adam: {learning_rate: 0.1}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 10}
output: {dir: runs/flowers}
END
awk '/^```/ { block = !block; next } !block { next }
    /^ *- run: / { sub(/^ *- run: /, ""); print; next }
    /^ *- dtrain / { sub(/^ *- /, ""); print; next }
    /^ *cmd: / { sub(/^ *cmd: /, ""); print; next }
    /^dtrain / { print }' "$page" >commands
# The sentence that accepts a model comes first in time.
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n 's/.*`\(dtrain evaluate job.yaml --metrics main.json\)`.*/\1/p' "$page" >accept
echo "== the commands of the page: $(wc -l <commands)"
{ head -n 3 commands; cat accept; tail -n +4 commands; } >all
while read -r line; do
    sh -c "$line" >out 2>err </dev/null
    code=$?
    [ $code = 0 ] || { echo "$line: exit $code" && cat err; }
done <all
for file in summary.md "$GITHUB_STEP_SUMMARY"; do sed -n '/^| accuracy/p' "$file" | tr -s ' '; done
grep -c '<testcase' tests.xml
grep -o 'name="accuracy[^"]*"' tests.xml
sed 's/: [0-9.]*/: N/g' metrics.json
echo "== worse than before"
dtrain fit job.yaml -q output.dir=runs/bad fit.epochs=1 compile.optimizer.Adam.learning_rate=1e-6
check() {
    dtrain "$@" >out 2>err
    echo "exit $?"
    cat err
}
check evaluate job.yaml -q output.dir=runs/bad --expect 'accuracy >= main.json - 0.005'
check evaluate job.yaml -q output.dir=runs/bad --expect 'accuracy >= runs/flowers - 0.005'
check fit job.yaml -q output.dir=runs/bad fit.epochs=1 compile.optimizer.Adam.learning_rate=1e-6 --expect 'val_accuracy >= runs/flowers - 0.005'
check evaluate job.yaml -q --expect 'accuracy >= runs/bad + 0.1' --expect 'loss<=runs/bad'
cp -r runs/flowers here
check evaluate job.yaml -q --expect 'accuracy >= here'
echo "== what is refused"
check evaluate job.yaml -q --expect 'accuracy >= runs/none'
check evaluate job.yaml -q --split train --expect 'accuracy >= runs/flowers'
check evaluate job.yaml -q --input flowers.csv --expect 'accuracy >= runs/flowers'
check evaluate job.yaml -q --input flowers.csv --expect 'accuracy >= main.json - 1'
check evaluate job.yaml -q --expect 'accuracy >= commands.json'
echo '[1]' >list.json
check evaluate job.yaml -q --expect 'accuracy >= list.json'
echo '{"loss": 1, "accuracy": "good"}' >text.json
check evaluate job.yaml -q --expect 'accuracy >= text.json'
for text in 'accuracy >= nowhere' 'accuracy >= runs/flowers - x' 'accuracy >= runs/flowers - ' 'accuracy >= - 0.1'; do
    check evaluate job.yaml -q --expect "$text" | head -n 2
done
