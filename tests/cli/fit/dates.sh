#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Dates of a table as numbers: parts, the order of day and month by the column or by a format, refused columns, checkpoints, export.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
table() { # dates
    echo 'when,y' >t.csv
    for date in "$@"; do echo "\"$date\",1" >>t.csv; done
}
job() { # steps shape
    cat >job.yaml <<END
version: 1
name: dates
dataset: {format: csv, train: t.csv, global_batch_size: 2, element: {when: {column: when, dtype: string}, y: {column: y}}, map: {when: [$1]}}
model: {layers: [Input: {name: when, shape: [$2]}, Dense: {units: 1}]}
compile: {optimizer: sgd, loss: mse}
fit: {epochs: 1}
END
}
look() {
    "$DTRAIN" data inspect job.yaml -r 4 2>&1 | sed -n '/^  when/p; /error/p; /\^/p'
    echo
}
table 2024-01-02 2024-02-29T23:30:00.5-01:00 20240102 '2 Jan 2024 3:04 PM'
job 'date: {parts: [seconds, year, quarter, month, day, weekday, day_of_year, hour, minute, second]}' 10
look
job 'date: auto, one_hot: 3' 3
"$DTRAIN" data inspect job.yaml 2>&1 | head -n 1
table 01/02/2024 13/02/2024
job 'date: {parts: [month, day]}' 2
look
table 01/02/2024 02/13/2024
look
table 01/02/2024 03/02/2024
look
job 'date: {format: "%d/%m/%Y", parts: [month, day]}' 2
look
table 31/12/2024 2024-12-31
look
job 'date: {parts: [month]}' 1
table 31/12/2024 12/31/2024
look
table 2024-01-02 soon
look
table 2024-01-02 NA
look
job 'impute: most_frequent, date: {parts: [month]}, normalize: {mean: 6, std: 3}' 1
look
job 'date: {parts: [years]}' 1
look
job 'date: {format: "%d/%m"}' 1
look

# A checkpoint keeps the order: 02/01/2024 is the second of January although only the file of training could tell.
table 13/02/2024 14/03/2024
job 'impute: most_frequent, date: {parts: [month]}' 1
"$DTRAIN" fit job.yaml -q
exits 78 export job.yaml -o out.onnx
cat err
exits 0 export job.yaml -o out.onnx --without-map
rm t.csv
printf 'when\n02/01/2024\n2024-01-31\n' | "$DTRAIN" predict job.yaml --input - >out.csv
uniq out.csv | wc -l
printf 'when\n02/01/2024\nsoon\n' | "$DTRAIN" predict job.yaml --input - 2>&1 >out.csv | sed 's/^dtrain: //'
# A row without a date is a bad row, too.
printf 'when\n02/01/2024\nsoon\n' | "$DTRAIN" predict job.yaml --input - --on-error row 2>/dev/null | tail -n 1
