#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From data alone to predictions, with jobs that are written from it: a table, records, arrays.
. tests/cli/setup.sh
. tests/cli/pages.sh
page your-own-data
step awk
line=$(shown 'dtrain config init --from flowers.csv')
sh -c "$line" || echo "exit $?"
dtrain fit first.yaml -q --expect 'val_accuracy >= 0.9'

# Records of JSON, with a text.
awk 'BEGIN { srand(4); split("fine nice dull poor", w); for (i = 0; i < 200; i++) { k = int(4 * rand()) + 1
    printf "{\"id\": \"r%d\", \"text\": \"a %s film\", \"liked\": %s}\n", i, w[k], k < 3 ? "true" : "false" } }' >films.jsonl
dtrain config init --from films.jsonl --target liked >films.yaml || exit 1
dtrain fit films.yaml -q output.dir=runs/films --expect 'val_accuracy >= 0.95'
echo '{"text": "a poor film"}' | dtrain predict films.yaml output.dir=runs/films --input - --top 1 --format jsonl | cut -d, -f 1

# Arrays: the targets are in a file of their own.
dtrain data convert first.yaml --split train -q -o 'part-{element}.npy' || exit 1
dtrain config init --from part-numbers.npy --target kind 2>&1 | head -n 2
dtrain config init --from x=part-numbers.npy --from kind=part-kind.npy --target kind >arrays.yaml || exit 1
dtrain fit arrays.yaml -q output.dir=runs/arrays --expect 'val_accuracy >= 0.9'
