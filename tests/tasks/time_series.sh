#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A forecast from a table of rows, as the page makes it: better than the same hour of the day before, which awk computes for the windows of
# validation; then the rows that follow a file are predicted.
. tests/cli/setup.sh
. tests/cli/pages.sh
page recipes
step "awk 'function noise() { x = x * 16807 % 2147483647; return x % 1000 / 1000 - 0.5 }"
given sales.yaml
# Windows in the order of their last hours, north before south; the last fifth validates.
naive=$(awk -F , 'NR > 1 { y[$2, n[$2]++] = $3 }
    END { split("north south", shop, " "); all = 2 * (n["north"] - 53); first = int(0.8 * all)
        for (i = first; i < all; i++) { s = shop[1 + i % 2]; end = 53 + int(i / 2)
            for (t = end - 5; t <= end; t++) { e = y[s, t] - y[s, t - 24]; sum += e < 0 ? -e : e; count++ } }
        printf "%.4f", sum / count }' sales.csv)
dtrain fit sales.yaml -q --expect "val_mae < $(awk -v naive="$naive" 'BEGIN { print 0.8 * naive }')"
dtrain evaluate sales.yaml | sed -n 's/^validation .*(\(.*\))/\1/p'
awk -v naive="$naive" 'BEGIN { print (naive > 2 && naive < 2.5) ? "a naive forecast" : "naive: " naive }'
step "awk -F , 'NR == 1"
cat said
# The rows to predict may stand in any order.
awk -F , 'NR == 1 || $1 >= "2024-02-28"' sales.csv >last.csv
{ head -n 1 last.csv && tail -n +2 last.csv | sort -t , -k 3; } >mixed.csv
dtrain predict sales.yaml --input last.csv --keep date,shop >forecast
dtrain predict sales.yaml --input mixed.csv --keep date,shop | cmp - forecast
