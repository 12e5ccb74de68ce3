#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An archive of weights with a damaged member: file and member are named, and verify reads the values, too.
. tests/cli/setup.sh
command -v python3 >"$TEST_DIR/which" || { echo "no python3 here" && exit 77; }
write_tiny
cd "$TEST_DIR" || exit 1
"$DTRAIN" fit tiny.yaml -q
"$DTRAIN" ckpt convert run -o w.npz
show ckpt verify w.npz
at=$(grep -abo NUMPY w.npz | sed -n 2p | cut -d: -f1)
# damaged OFFSET: a byte of the second member.
damaged() {
    cp w.npz damaged.npz
    printf '\377' | dd of=damaged.npz bs=1 seek="$1" conv=notrunc 2>/dev/null
    for words in 'ckpt verify damaged.npz' 'ckpt inspect damaged.npz' 'fit tiny.yaml --fresh -q model.init_from=damaged.npz'; do
        # shellcheck disable=SC2086 # words
        "$DTRAIN" $words >out 2>err || echo "exit $?"
        grep -h error err
    done
}
damaged "$at"
damaged $((at + 130))
# a member other than an array, among many
python3 -c '
import zipfile
good = zipfile.ZipFile("w.npz").read("dense/kernel.npy")
with zipfile.ZipFile("damaged.npz", "w") as z:
    for i in range(20000): z.writestr(f"m{i}.npy", good if i != 12345 else b"no array")'
show ckpt verify damaged.npz
show data inspect damaged.npz
show data inspect m12345=damaged.npz
