#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Hashes of what was read, held against sha256sum: of one file, of several in their order. The record, `fit --json` and the page
# say the same; runs on other data are marked, and so is an attempt that went on with other data.
. tests/cli/setup.sh
dir=$TEST_DIR
table() { # FILE SEED
    seq 1 40 | awk -v seed="$2" 'BEGIN { print "a,b,y" } { print $1 * seed % 7 ".5," $1 % 5 ".25," $1 % 2 }' >"$1"
}
job() { # NAME DATASET...
    cat >"$dir/$1.yaml" <<END_OF_JOB
version: 1
strategy: {type: one_device, device: "CPU:0"}
dataset:
$2
  global_batch_size: 8
model: {type: sequential, layers: [Input: {name: x, shape: [2]}, Dense: {units: 1, name: out}]}
compile: {optimizer: SGD, loss: MeanSquaredError}
fit: {epochs: 2}
output: {dir: $dir/$1}
END_OF_JOB
}
# said RUN PART: files, bytes, kind, hash, as the record has them.
said() {
    sed -n "s/.*\"event\": \"data\", \"part\": \"$2\", \"files\": \([0-9]*\), \"bytes\": \([0-9]*\), \"hashed\": \"\([a-z]*\)\", \"sha256\": \"\([0-9a-f]*\)\".*/\1 \2 \3 \4/p" \
        "$dir/$1/record.jsonl" | tail -n 1
}
expect() { # WHAT SAID FILES BYTES KIND HASH
    [ "$2" = "$3 $4 $5 $6" ] || echo "$1: $2, not $3 $4 $5 $6"
}
sha() { sha256sum | cut -d ' ' -f 1; }
size() { wc -c <"$1" | tr -d ' '; }

csv='  format: csv
  element: {x: {columns: [a, b]}, y: {columns: [y]}}'
table "$dir/a.csv" 3
table "$dir/b.csv" 5
job one "$csv
  train: a.csv
  validation: b.csv"
job several "$csv
  train: [b.csv, a.csv]
  validation_split: 0.25"
exits 0 fit "$dir/one.yaml" --json
expect one "$(said one train)" 1 "$(size "$dir/a.csv")" whole "$(sha <"$dir/a.csv")"
expect validation "$(said one validation)" 1 "$(size "$dir/b.csv")" whole "$(sha <"$dir/b.csv")"
grep -c "\"event\":\"data\",\"part\":\"[a-z]*\",\"files\":1,\"bytes\":[0-9]*,\"sha256\":\"[0-9a-f]*\",\"hashed\":\"whole\"" "$dir/out"
"$DTRAIN" report "$dir/one" -q
has "$dir/one/report.html" "$(sha <"$dir/a.csv")"
has "$dir/one/report.html" "\"path\": \"$dir/a.csv\""
exits 0 fit "$dir/several.yaml"
expect several "$(said several train)" 2 "$(cat "$dir/a.csv" "$dir/b.csv" | wc -c | tr -d ' ')" whole \
    "$(for f in b a; do echo "$(sha <"$dir/$f.csv") $(size "$dir/$f.csv") "; done | sha)"
[ -z "$(said several validation)" ] || echo "the part that is split off has files of its own"

# Compared: the same data, then others.
exits 0 fit "$dir/one.yaml" seed=2 "output.dir=$dir/twin"
exits 0 report "$dir/one" "$dir/twin" -o "$dir/same.html"
exits 0 report "$dir/one" "$dir/several" -o "$dir/other.html"
if chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) && command -v python3 >"$dir/python"; then
    for page in same.html:'All runs used the same data.' other.html:'The runs used different data.'; do
        python3 tests/report/pages.py words "$chromium" "$dir/${page%%:*}" >"$dir/words"
        has "$dir/words" "${page#*:}"
    done
fi

# A run that goes on with other data prints a warning.
exits 0 fit "$dir/one.yaml" fit.epochs=3
lacks "$dir/err" 'warning'
"$DTRAIN" report "$dir/one" -q && lacks "$dir/one/report.html" 'changed between attempts'
table "$dir/a.csv" 4
exits 0 fit "$dir/one.yaml" fit.epochs=4
sed 's/sha [0-9a-f]\{12\}, now [0-9a-f]\{12\}/sha H, now H/' "$dir/err" | grep warning
exits 0 fit "$dir/one.yaml" fit.epochs=5
lacks "$dir/err" 'warning'
"$DTRAIN" report "$dir/one" -q && has "$dir/one/report.html" 'the files of dataset.train changed between attempts'
