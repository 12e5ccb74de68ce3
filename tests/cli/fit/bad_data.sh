#!/bin/sh
# Data files that are wrong, one fault each: exit code, the file and what is wrong with it; nothing is trained, nothing hangs.
. tests/cli/setup.sh
job=$TEST_DIR/job.yaml x=$TEST_DIR/x.npy y=$TEST_DIR/y.npy
cat >"$job" <<END
version: 1
name: data
strategy: {type: default}
dataset: {format: npy, train: {image: x.npy, label: y.npy}, global_batch_size: 8}
model: {type: sequential, layers: [Input: {name: image, shape: [4]}, Dense: {units: 3}]}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: "$TEST_DIR/run"}
END

# npy TYPE SHAPE BYTES: an array of zeros.
npy() {
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '$1', 'fortran_order': ${order:-False}, 'shape': $2, }"
    head -c "$3" /dev/zero
}
# row NAME: trains on what lies there; then all is well again.
row() {
    timeout 20 "$DTRAIN" fit "$job" -q >"$TEST_DIR/out" 2>"$TEST_DIR/err"
    echo "$1: exit $?"
    grep 'error: ' "$TEST_DIR/err" | hide | sed 's/^/    /'
    rm -rf "$x" "$y" "$TEST_DIR/run"
    npy '<f4' '(12, 4)' 192 >"$x"
    npy '|u1' '(12,)' 12 >"$y"
}
# bytes FILE FORMAT: a file's bytes.
bytes() {
    # shellcheck disable=SC2059
    printf "$2" >"$1"
}

row 'none yet'
row right
rm "$x" && mkdir "$x"
row directory
bytes "$x" ''
row empty
bytes "$x" '\224NUMPY and so on'
row magic
npy '<f4' '(12, 4)' 0 | head -c 40 >"$x"
row 'cut header'
bytes "$x" '\223NUMPY\002\000\377\377\377\377{}'
row 'large header'
printf '\223NUMPY\001\000\166\000%-117s\n' "import os" >"$x"
row 'no dictionary'
npy '|O' '(12, 4)' 192 >"$x"
row pickle
npy '>f4' '(12, 4)' 192 >"$x"
row 'big-endian'
(order=True && npy '<f4' '(12, 4)' 192) >"$x"
row Fortran
npy '<f4' '(65536, 65536)' 0 >"$x"
row 'no data'
npy '<f4' '(8589934592, 8589934592)' 0 >"$x"
row overflow
npy '<f4' '(-1, 4)' 192 >"$x"
row negative
npy '<f4' '(12, 4)' 187 >"$x"
row short
npy '<f4' '(12, 4)' 199 >"$x"
row long
npy '|u1' '(10,)' 10 >"$y"
row 'two lengths'
npy '|u1' '(12,)' 7 >"$y" && printf '\143\000\000\000\000' >>"$y"
row 'label 99'
npy '|i1' '(12,)' 7 >"$y" && printf '\377\000\000\000\000' >>"$y"
row 'label -1'
npy '<f4' '(12,)' 48 >"$y"
row 'labels with fractions'
npy '<f4' '(0, 4)' 0 >"$x" && npy '|u1' '(0,)' 0 >"$y"
row 'no examples'
npy '<f4' '(3, 4)' 48 >"$x" && npy '|u1' '(3,)' 3 >"$y"
row 'fewer than a batch'
npy '<f4' '(12, 5)' 240 >"$x"
row 'another shape'
npy '<f4' '(12, 4)' 188 >"$x" && printf '\000\000\300\177' >>"$x"
row 'not a number'
rm "$x" && mkfifo "$x"
row FIFO
rm "$x" && ln -s /dev/zero "$x"
row device
rm "$x" && ln -s x.npy "$x"
row loop
bytes "$x" '\211HDF\r\n\032\n and so on'
row HDF5
