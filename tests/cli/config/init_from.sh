#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job from data, which trains untouched: a table with gaps, ids, dates, few and many categories; a number; JSON lines with texts; arrays; pictures.
# What cannot be predicted is named.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
# trains ARGS...: writes a job and trains it; prints its name, and its lines of data and model.
trains() {
    "$DTRAIN" config init "$@" >job.yaml || { echo "exit $?"; return; }
    grep '^name:' job.yaml
    sed -n '/^dataset:/,/^compile:/p' job.yaml
    exits 0 fit job.yaml -q fit.epochs=2 output.dir=run
    rm -rf run
}
refused() {
    "$DTRAIN" config init "$@" 2>&1
    echo "exit $?"
}
awk 'function noise() { x = x * 16807 % 2147483647; return x % 1000 / 1000 }
    BEGIN { x = 7; print "Id,name,age,income,plan,town,born,swapped,zero,empty,stays"
    for (i = 0; i < 300; i++) {
        age = int(18 + 60 * noise()); plan = substr("abc", 1 + int(3 * noise()), 1)
        print i * 3 ",name" i "," (i % 9 ? age : "NA") "," int(1500 + 6000 * noise()) "," (i % 20 ? plan : "") ",t" int(40 * noise()) ",2001-" 1 + i % 12 "-07,0" 1 + i % 9 "/05/2020,0,," (i < 120 ? "no" : "yes") } }' >people.csv
trains --from people.csv --target stays
trains --from people.csv --target income | sed -n '/income/p'
sed 's/,yes$/,1/; s/,no$/,0/' people.csv >numbers.csv
trains --from numbers.csv --target stays | sed -n '/stays/p; /NAME/p; /classes/p'
awk 'BEGIN { split("goal match team,bread soup oven", word, ","); split("sport food", topic, " ")
    for (i = 0; i < 60; i++) print "{\"text\": \"the " word[1 + i % 2] " of day " i "\", \"at\": [" i % 2 ", 0.5], \"topic\": \"" topic[1 + i % 2] "\"}" }' >topics.jsonl
trains --from topics.jsonl --target topic
printf 'x0,x1,y\n' >a.csv
awk 'BEGIN { for (i = 0; i < 60; i++) print i % 7 "," i % 5 "," i % 3 }' >>a.csv
cat >a.yaml <<'END'
version: 1
name: a
dataset: {format: csv, train: a.csv, element: {x: {columns: [x0, x1]}, y: {column: y, dtype: int64}}, global_batch_size: 1}
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 3}]}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
"$DTRAIN" data convert a.yaml -o a.npz >/dev/null
trains --from a.npz --target y
"$DTRAIN" data convert a.yaml -o '{element}.npy' >/dev/null
trains --from input=x.npy --from y.npy --target y | sed -n '/train:/p; /Input/p'
for class in circle square; do
    mkdir -p "shapes/$class"
    for i in 1 2 3 4 5 6 7 8; do
        echo iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGiAAAAFElEQVR4nGNkYGRkZGRhZGRkgRMAAVEAI9SIzDgAAAAASUVORK5CYII= | base64 -d >"shapes/$class/$i.png"
    done
done
trains --from shapes
for class in ham spam unsup; do
    mkdir -p "mail/train/$class/more"
    for i in 1 2 3 4 5 6 7 8; do
        echo "a $class letter $i" >"mail/train/$class/$i.txt"
        echo "more $class $i" >"mail/train/$class/more/$i.txt"
    done
done
trains --from mail/train
"$DTRAIN" data inspect mail/train
awk 'BEGIN { split("the cat sat on a mat", w, " "); for (i = 0; i < 400; i++) printf "%s%s", w[1 + i * i % 6], i % 7 ? " " : ".\n" }' >cats.txt
trains --from cats.txt
awk 'BEGIN { for (i = 0; i < 200; i++) print "{name}", i }' >braces.txt
"$DTRAIN" config init --from braces.txt | grep -o 'prompt: [^,]*'
mkdir -p pair/a pair/b
echo good >pair/a/1.txt
echo bad >pair/b/1.txt
trains --from pair | sed -n "/validation_split/p; /exit/p"
mv pair/b pair/train
trains --from pair | sed -n "/class_names/p; /exit/p"

refused --from people.csv
refused --from people.csv --target stay
"$DTRAIN" config init --from people.csv --target age | grep -E "Predicts|drop_missing|scale:"
refused --from people.csv --target zero
refused --from people.csv --target name
refused --from a.npz --target z
refused --from y.npy --target y
refused --from mail
echo short >short.txt
refused --from short.txt
printf '%1000s' '' >blank.txt
refused --from blank.txt
printf 'gr\374n' >mail/train/ham/9.txt
refused --from mail/train
rm mail/train/ham/9.txt
printf '%1048577s' long >mail/train/ham/long.txt
refused --from mail/train
refused --from none.csv --target y
head -n 20 topics.jsonl >shapes/circle/9.png
refused --from shapes
refused tabular --from a.csv
refused --target y
# the name of a hidden file
seq -s ' a line of text ' 2000 >.play.txt
"$DTRAIN" config init --from .play.txt | grep '^name:'
