#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Text classification from a CSV file: the vocabulary and the means that training learned are the run's; evaluate and predict take them from there.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit
awk 'BEGIN {
    split("good great fine lovely", up); split("bad awful poor sad", down); split("The film A story this, plot! acting it", any)
    print "stars,review,label"
    for (i = 0; i < 240; i++) {
        label = i % 2; text = ""
        for (k = 0; k < 6; k++)
            text = text (k ? " " : "") ((i * 7 + k * 5) % 3 == 0 ? (label ? up[1 + (i + k) % 4] : down[1 + (i * 3 + k) % 4]) : any[1 + (i * 11 + k) % 8])
        printf "%d,\"%s, \"\"%s\"\"\",%s\n", 100 + 10 * label + i % 7, text, (label ? up[1 + i % 4] : down[1 + i % 4]), (label ? "up" : "down")
    }
}' >reviews.csv
cat >job.yaml <<'END'
version: 1
name: reviews
strategy: {type: mirrored, devices: ["CPU:0", "CPU:1"]}
dataset:
  format: csv
  train: reviews.csv
  validation_split: 0.25
  element:
    review: {column: review, dtype: string}
    stars:  {columns: [stars]}
    label:  {column: label, dtype: int32, vocabulary: [down, up]}
  map:
    review: [text_vectorization: {max_tokens: 64, output_sequence_length: 12}]
    stars:  [normalize]
  shuffle: true
  global_batch_size: 16
model:
  type: functional
  layers:
    - Input: {name: review, shape: [12], dtype: int32}
    - Embedding: {input_dim: 64, output_dim: 8}
    - GlobalAveragePooling1D: {name: words}
    - Input: {name: stars, shape: [1]}
    - Concatenate: {inputs: [words, stars]}
    - Dense: {name: logits, units: 2}
  outputs: logits
compile: {optimizer: {Adam: {learning_rate: 0.05}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 3}
output: {dir: run}
END
"$DTRAIN" validate job.yaml
"$DTRAIN" fit job.yaml --expect 'val_accuracy>=0.9' >log 2>&1 || { echo "exit $?"; cat log; }
value() { "$DTRAIN" evaluate job.yaml --json | sed -n 's/.*"val_loss":\([0-9.e-]*\).*/\1/p;s/.*"loss":\([0-9.e-]*\).*/\1/p' | head -n 1; }
was=$(value)
printf 'review,stars\n"GREAT, lovely film! zzz",110\nAn awful story,100\n' >asked.csv
printf '{"stars": [110], "review": "GREAT, lovely film! zzz"}\n{"review": "An awful story", "stars": [100]}\n' >asked.jsonl
"$DTRAIN" predict job.yaml --input asked.csv -o a.csv -q
"$DTRAIN" predict job.yaml --input asked.jsonl -o b.csv -q
cmp a.csv b.csv
awk -F, 'NR > 1 { print ($2 > $1 ? "up" : "down") }' a.csv

echo "other training data: the run's words and means hold, and it does not go on"
cp reviews.csv whole.csv
{ head -n 1 whole.csv; tail -n 60 whole.csv | sed 's/film/movie/; s/^/9/'; sed -n '2,181p' whole.csv; } >other.csv
cp other.csv reviews.csv
"$DTRAIN" predict job.yaml --input asked.csv -o c.csv -q
cmp a.csv c.csv
show fit job.yaml fit.epochs=4
rm reviews.csv
"$DTRAIN" predict job.yaml --input asked.csv -o d.csv -q
cmp a.csv d.csv
cp whole.csv reviews.csv
[ "$(value)" = "$was" ] || echo "evaluate: $(value), was $was"
show predict job.yaml --input run/history.jsonl -o e.csv
