#!/bin/sh
# CSV that is written of a job's own CSV says the same again, whatever the job says of its columns: the job reads it, and writes it a second time as it is.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit

# again TEXT DATASET: the file that is written of TEXT by a job of these words; its examples are those of TEXT.
again() {
    printf '%b' "$1" >own.csv
    cat >job.yaml <<END
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: csv, train: own.csv, global_batch_size: 2, $2}
model: {type: sequential, layers: [Input: {name: x, shape: [1]}, Dense: {units: 1}]}
compile: {optimizer: SGD, loss: MeanSquaredError}
fit: {epochs: 1}
END
    exits 0 data convert job.yaml -o again.csv
    cat again.csv
    for file in own again; do
        exits 0 data inspect job.yaml dataset.train=$file.csv --records 100 --json
        sed "s/$file.csv/CSV/g" "$TEST_DIR/out" >$file.json
    done
    cmp own.json again.json
}

echo "a default that no word stands for"
again 'x,k\n1,red\n2,\n3,blue\n' 'element: {x: {columns: [x]}, k: {column: k, dtype: int32, vocabulary: [red, blue], default_value: 1000000}}'
again 'x,k\n1,red\n2,\n' 'element: {x: {columns: [x]}, k: {column: k, dtype: int8, vocabulary: [red, blue], default_value: -1}}'
