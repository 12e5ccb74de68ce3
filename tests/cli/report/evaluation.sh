#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An evaluation of all examples of a part is kept beside its run and shown in the report: of these weights, and without values of variables. An evaluation of less than a
# whole part of the run's own data, or of another run's checkpoint, leaves no file; damaged or hostile files are shown as text.
. tests/cli/setup.sh
. tests/cli/jobs.sh
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
root=$PWD
dtrain() { "$DTRAIN" "$@"; }
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "a,b,kind,price"
    for (i = 0; i < 60; i++) print i * 37 % 11 "," i * 13 % 7 "," (i * 37 % 11 + i % 3 > 6 ? "<b>yes" : "no") "," i * 37 % 11 * 10 + i % 4 }' >all.csv
cat >good.yaml <<'END'
version: 1
name: good
seed: 3
dataset:
  format: csv
  train: "${CITY}/all.csv"
  element: {x: {columns: [a, b]}, y: {column: kind, vocabulary: [no, "<b>yes"]}}
  validation_split: 0.5
  global_batch_size: 8
model: {layers: [Input: {name: x, shape: [2]}, Dense: {name: out, units: 1, activation: sigmoid}]}
compile: {optimizer: Adam, loss: binary_crossentropy, metrics: [accuracy]}
fit: {epochs: 2}
output: {dir: good}
END
sed 's/name: good/name: price/; s/y: {.*vocabulary.*}}/y: {column: price}}/; s/, activation: sigmoid//; s/binary_crossentropy, metrics: .accuracy./mse/; s/dir: good/dir: price/' good.yaml >price.yaml
export CITY=. # short: it is no word of another text
for name in good price; do dtrain fit $name.yaml -q; done

dtrain evaluate good.yaml -q --steps 1
dtrain evaluate good.yaml -q --input all.csv
dtrain evaluate good.yaml -q --ckpt "$PWD/good/../price" 2>/dev/null
cp -r good copy
dtrain evaluate good.yaml -q --ckpt copy
find good copy price -name "evaluation*"

data() { sed -n 's|.*id="data">\(.*\)</script>|\1|p' "$1"; }
page() { dtrain report "$@" -q -o page.html && data page.html; }
CITY=$PWD "$DTRAIN" evaluate good.yaml -q
dtrain evaluate good.yaml -q --split train --ckpt "$PWD/good"
dtrain evaluate price.yaml -q
find good price -name "evaluation*" | sort
grep -c "$PWD" good/evaluation.validation.json
page good >of_good.json
python3 - <<'END'
import json

page = json.load(open("of_good.json"))["runs"][0]
for part in ("validation", "train"):
    kept = json.load(open(f"good/evaluation.{part}.json"))
    out = kept["outputs"]["out"]
    print(part, page["evaluations"][part] == kept, kept["weights_sha256"] == page["weights_sha256"], kept["examples"],
          kept["metrics"].keys(), sum(map(sum, out["confusion_matrix"])), len(out["worst"]), out["worst"][0]["where"].split(" of ")[1])
END

if chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) && ! sanitized; then
    cp -r good hostile
    sed -i 's/"confusion_matrix":\[\[/"confusion_matrix":[7,{"a":1},["<i>",null,[]],[/; s/"fpr":\[/"fpr":["x",null,{},/; s/"support":[0-9]*/"support":{"b":[]}/
        s/"recall":[0-9.]*/"recall":"<script>"/; s/"for":"f1"/"for":["f1"]/; s/"thresholds":\[{/"thresholds":[null,5,{/; s/"metrics":{/"metrics":{"__proto__":1,"constructor":[],/' hostile/evaluation.validation.json
    printf '{"generation":0,"outputs":{"out":[],"__proto__":{"classes":[[],3]},"x":null},"metrics":[1]}' >hostile/evaluation.test.json
    dtrain report hostile -q -o hostile.html
    dtrain report good -q -o good.html
    dtrain report price -q -o price.html
    dtrain report good price hostile -q -o both.html
    timeout 300 python3 "$root/tests/report/pages.py" browser "$chromium" good.html price.html hostile.html both.html
    python3 "$root/tests/report/pages.py" words "$chromium" good.html >seen
    python3 "$root/tests/report/pages.py" words "$chromium" price.html >>seen
    for text in "Confusion matrix" "best f1" "ROC, validation" "calibration, train" "Worst examples" "<b>yes" "errors, validation" "99 %"; do has seen "$text"; done
fi

# Damaged; of an older training; a directory that takes no file.
echo '{"generation":0,' >price/evaluation.validation.json
page price | grep -o 'evaluation.validation.json cannot be read'
dtrain fit good.yaml -q --fresh
page good | grep -o '"evaluations": {}'
rm -r good/evaluation*
mkdir good/evaluation.validation.json
dtrain evaluate good.yaml 2>&1 | grep -c 'warning: .*evaluation.validation.json\|the evaluation is not kept for reports'
