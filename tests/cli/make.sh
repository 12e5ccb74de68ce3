# SPDX-License-Identifier: Apache-2.0
# Read by rows.sh: words that make the inputs of a row in the folder at hand.
# shellcheck shell=sh

# edit SED: job.yaml edited, which must change it.
edit() {
    sed "$1" job.yaml >edited.yaml
    ! cmp -s edited.yaml job.yaml || { echo "'$1' changes nothing" && return 1; }
    mv edited.yaml job.yaml
}

# text FORMAT: a job of these bytes; bytes FILE FORMAT: a file of them.
text() {
    bytes job.yaml "$1"
}
bytes() {
    # shellcheck disable=SC2059
    printf "$2" >"$1"
}

# many N TEXT: so often in a row.
many() {
    awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) printf "%s", text }'
}
zeros() {
    head -c "$1" /dev/zero
}

# data FORMAT KEYS: a job that learns y, three classes, from x, four numbers.
data() {
    cat >job.yaml <<END
version: 1
name: data
strategy: {type: default}
dataset: {format: $1, global_batch_size: 8, $2}
model: {type: sequential, layers: [Input: {name: x, shape: [4]}, Dense: {units: 3}]}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: run}
END
}

# keras: the job's model is in m.json, which is not there yet.
keras() {
    edit '/^  type: sequential/,/logits/d; s/^model:/model: {keras_config: m.json}/'
}

# npy TYPE SHAPE BYTES: an array of zeros; npy_head TEXT: a header that says what it likes.
npy() {
    npy_head "{'descr': '$1', 'fortran_order': ${order:-False}, 'shape': $2, }"
    zeros "$3"
}
npy_head() {
    printf '\223NUMPY\001\000\166\000%-117s\n' "$1"
}
# arrays: that job over x.npy and y.npy, twelve rows.
arrays() {
    data npy 'train: {x: x.npy, y: y.npy}'
    npy '<f4' '(12, 4)' 192 >x.npy
    npy '|u1' '(12,)' 12 >y.npy
}

# idx FORMAT BYTES: a head, as printf writes it, and zeros.
idx() {
    # shellcheck disable=SC2059
    printf "$1"
    zeros "$2"
}
ids() {
    data idx 'train: {x: x.idx, y: y.idx}, map: {x: [cast: float32]}'
    idx '\0\0\010\002\0\0\0\014\0\0\0\004' 48 >x.idx
    idx '\0\0\010\001\0\0\0\014' 12 >y.idx
}

# table LINE...: lines of x.csv below its header.
table() {
    data csv 'train: x.csv, element: {x: {columns: [a, b, c, d], dtype: float32}, y: {column: lbl, dtype: int32}}'
    printf '%s\n' a,b,c,d,lbl "$@" >x.csv
}

# field, frame, claim, flip, sized: see tests/cli/catalogue/maker.c.
for maker in field frame claim flip sized; do
    eval "$maker() { \"\$MAKER\" $maker \"\$@\"; }"
done
# feature NAME KIND: of a tf.Example, its packed values read from standard input; 1 is bytes, 2 floats, 3 int64.
feature() {
    { printf %s "$1" | field 1 && field 1 | field "$2" | field 2; } | field 1
}
example() {
    { zeros 16 | feature x 2 && printf '\001' | feature y 3; } | field 1
}
# records N: so many examples as TFRecords; record_job: the job over train.tfrecord.
records() {
    example | frame >one
    for _ in $(seq "$1"); do cat one; done
    rm one
}
record_job() {
    data tfrecord "train: ${1:-train.tfrecord}, element: {x: {shape: [4], dtype: float32}, y: {shape: [], dtype: int64}}"
}

# weights HEADER BYTES: a safetensors file, and the tiny job that begins with it.
weights() {
    begins && { printf %s "$1" | sized && zeros "${2:-0}"; } >x.safetensors
}
begins() {
    edit 's|^  layers:|  init_from: x.safetensors\n&|'
}
# tensor NAME SHAPE BEGIN END [DTYPE]: an entry of such a header.
tensor() {
    printf '"%s": {"dtype": "%s", "shape": %s, "data_offsets": [%s, %s]}' "$1" "${5:-F32}" "$2" "$3" "$4"
}

# trained WORDS...: the job as it has run; state SED: its newest state.json edited.
trained() {
    "$DTRAIN" fit job.yaml -q "$@"
}
state() {
    sed -i "$1" run/ckpt/step-00000012/state.json
}
