#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: file
# The last bytes of a deflate stream may be one match that zlib still holds when all compressed bytes have been read: the end is not missing.
. tests/cli/setup.sh
. tests/cli/jobs.sh
command -v python3 >"$TEST_DIR/which" || { echo "no python3 here" && exit 77; }
cd "$TEST_DIR" || exit 1
printf 'a,y\n1,1\n0,0\n' >t.csv
cat >job.yaml <<'YAML'
version: 1
dataset: {format: csv, train: t.csv, element: {x: {columns: [a]}, y: {column: y, dtype: int32}}, global_batch_size: 2}
model: {layers: [Input: {name: x, shape: [1]}, Dense: {units: 2, name: logits}]}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: run}
YAML
python3 - <<'END'
import struct, zipfile
rows = 1 << 22
text = repr({"descr": "<f4", "fortran_order": False, "shape": (rows, 1)}).encode()
head = b"\x93NUMPY\1\0" + struct.pack("<H", 118) + text + b" " * (117 - len(text)) + b"\n"
with zipfile.ZipFile("x.npz", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("x.npy", head + b"\0" * (4 * rows))
END
case $DTRAIN in /*) program=$DTRAIN ;; *) program=$OLDPWD/$DTRAIN ;; esac
"$program" fit job.yaml -q || echo "exit $?"
"$program" predict job.yaml --input x.npz -o y.npz -q || echo "exit $?"
