#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CSV written from a job's own CSV, with any settings of columns: the job reads it and gets the same examples.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit

# again TEXT DATASET: prints the file that is written of TEXT by a job of these words; its examples are those of TEXT.
again() {
    rm -f again.csv ./*.tfrecord
    printf '%b' "$1" >own.csv
    cat >job.yaml <<END
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: csv, train: own.csv, global_batch_size: 2, $2}
model: {type: sequential, layers: [Input: {name: x, shape: [1]}, Dense: {units: 1}]}
compile: {optimizer: SGD, loss: MeanSquaredError, target: y}
fit: {epochs: 1}
END
    exits 0 data convert job.yaml -o again.csv
    cat again.csv
    for file in own again; do
        exits 0 data convert job.yaml dataset.train=$file.csv -o $file.tfrecord
    done
    cmp own.tfrecord again.tfrecord
}

echo "a default that no word stands for"
again 'x,y\n1,red\n2,\n3,blue\n' 'element: {x: {columns: [x]}, y: {column: y, dtype: int32, vocabulary: [red, blue], default_value: 1000000}}'
again 'x,y\n1,red\n2,\n' 'element: {x: {columns: [x]}, y: {column: y, dtype: int8, vocabulary: [red, blue], default_value: -1}}'

echo "another delimiter"
again 'x;y\n1.5;"a;b"\n2;a,b\n' 'field_delim: ";", element: {x: {columns: [x]}, y: {column: y, dtype: string}}'
again 'x.y\n1.2\n"-1.5".3\n' 'field_delim: ".", element: {x: {columns: [x]}, y: {column: y, dtype: int32}}'
echo "no header"
again '9,1.5,no,8\n7,2,yes,6\n' 'header: false, element: {y: {column: 2, dtype: int32, vocabulary: [no, yes]}, x: {columns: [1]}}'
again '1,2,,4\n5,6,7,8\n' 'header: false, element: {x: {columns: [3, 0]}, y: {column: 2, default_value: -1.5}}'
again '""\n3\n' 'header: false, element: {x: {column: 0, default_value: 3}, y: {column: 0, dtype: string}}'
echo "a column of several elements"
again 'a,b\n1,16777217\n2,3\n' 'element: {x: {columns: [a, b]}, y: {column: b, dtype: int32}}'
again 'k,n\nb,01\na,2\n' 'element: {x: {column: n}, y: {column: k, dtype: int32, vocabulary: [a, b]},
          words: {columns: [k, k], dtype: int8, vocabulary: [b, a]}, n: {column: n, dtype: string}}'
again '2,0.1,3\n4,5,6\n' 'header: false, element: {x: {columns: [0, 1]}, y: {columns: [1, 1], dtype: float64}, z: {column: 0, dtype: int8}}'

printf 'a,b\n,4\n' >own.csv
show data convert job.yaml -o again.csv 'dataset.element={x: {columns: [a, b], default_value: 0.5}, y: {column: a, dtype: int32, default_value: -1}}' \
    dataset.header=true

echo "other data have commas and the elements' names"
again 'x;y\n1;no\n2;yes\n' 'field_delim: ";", element: {x: {columns: [x]}, y: {column: y, dtype: int32, vocabulary: [no, yes]}}'
exits 0 data convert job.yaml -o mapped.csv --mapped
cat mapped.csv
exits 0 data convert own.csv -o again.csv
cat again.csv
