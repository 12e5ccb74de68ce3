#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JSON lines that are written read back as the same bits: numbers of each type, words, texts, arrays; what JSON cannot hold is refused.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
cat >all.csv <<'END'
i,f,d,kind,note,a,b,c,e
9007199254740993,0.1,0.1,iris,"a ""quoted"", text",1,2,3,4
-9223372036854775808,-0.0,1e-300,rose,"über\ und 🌹",5,6,7,255
0,16777216,3,iris,,0,0,0,0
END
keys='i: {KEY: i, dtype: int64}, f: {KEY: f}, d: {KEY: d, dtype: float64}, kind: {KEY: kind, vocabulary: [iris, rose]}, note: {KEY: note, dtype: string}'
job() { # format, train, element
    echo "{version: 1, dataset: {format: $1, train: $2, element: {$3}, global_batch_size: 2}, model: {layers: [Input: {name: x, shape: [2, 2]}, Flatten, Dense: {units: 1}]}}"
}
job csv all.csv "$(echo "$keys" | sed 's/KEY/column/g'), x: {columns: [a, b, c, e], shape: [2, 2], dtype: uint8}" >csv.yaml
job jsonl all.jsonl "$(echo "$keys" | sed 's/KEY: [a-z]*,* *//g'), x: {shape: [2, 2], dtype: uint8}" >jsonl.yaml
"$DTRAIN" data convert csv.yaml -o all.jsonl -q && cat all.jsonl
"$DTRAIN" data convert jsonl.yaml -o back.jsonl -q && cmp all.jsonl back.jsonl
"$DTRAIN" data convert jsonl.yaml -o part.jsonl --shards 2 -q && cat part-0000?-of-00002.jsonl | cmp all.jsonl -
"$DTRAIN" data convert csv.yaml -o a.tfrecord -q && "$DTRAIN" data convert jsonl.yaml -o b.tfrecord -q && cmp a.tfrecord b.tfrecord
printf '\223NUMPY\001\000\166\000%-117s\n\000\000\300\177' "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" >nan.npy
show data convert nan.npy -o nan.jsonl
exit 0
