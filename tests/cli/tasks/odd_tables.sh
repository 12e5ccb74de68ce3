#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tables as other programs write them, from an empty folder with the keys of docs/data.md alone: UCI's runs of blanks with '?', a German
# spreadsheet, an export of MySQL, and pictures in 64 columns, too many to name.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
# job KEYS SHAPE: a job of x and y.
job() {
    printf 'version: 1\nname: odd\ndataset: {format: csv, train: t.csv, global_batch_size: 2, %s}\n' "$1"
    printf 'model: {layers: [Input: {name: x, shape: [%s]}, Dense: {units: 1}]}\ncompile: {optimizer: sgd, loss: mse}\nfit: {epochs: 1}\n' "$2"
}
look() {
    job "$1" "$2" >odd.yaml
    "$DTRAIN" data inspect odd.yaml -r 3 2>&1 | grep -v '^$'
}

printf '# mpg\n18.0  8  130.0  "chevrolet"\n25.0  4  ?      "ford pinto"\n' >t.csv
look 'header: false, field_delim: whitespace, comment: "#", element: {x: {columns: [1, 2]}, y: {columns: [0]}}, map: {x: [impute: mean]}' 2

printf 'sep=;\r\nPreis;Ja\r\n1.234,5;wahr\r\n0,5;falsch\r\n' >t.csv
look 'thousands: ".", decimal: ",", element: {x: {columns: [Preis]}, y: {column: Ja, vocabulary: {falsch: no, wahr: yes}}}' 1

printf 'note,a,ok\na\\,b,\\N,1\n' >t.csv
look 'escapechar: "\\", element: {x: {columns: [a], default_value: 7}, y: {column: ok, dtype: bool}}' 1

awk 'BEGIN { h = "id,label"; r = "7,1"; for (i = 0; i < 64; i++) { h = h ",pixel" i; r = r "," i } print h; print r }' >t.csv
look 'element: {x: {columns: ["pixel*"]}, y: {columns: [label]}}' 64
look 'element: {x: {columns: {all_but: [id, label]}}, y: {columns: [1]}}' 64
look 'element: {x: {columns: [pixel0..pixel62, "65"]}, y: {columns: [label]}}' 64
