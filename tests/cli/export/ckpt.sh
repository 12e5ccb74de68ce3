#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checkpoints are inspected, compared and converted.
. tests/cli/setup.sh
write_tiny
plain() {
    sed 's/[0-9][0-9-]*T[0-9:]*Z/WHEN/g; s/[0-9.]* KiB */SIZE /; s/[0-9a-f]\{64\}/H/g; s/sha [0-9a-f]\{12\}/sha H/; s/"bytes": [0-9]*/"bytes": N/' |
        sed 's/-*[0-9][0-9]*\.[0-9e-]*/N/g; s/ kernels .*/ kernels K/; s/^kernels .*/kernels K/'
}
"$DTRAIN" fit "$tiny" -q || echo "exit $?"
run=$TEST_DIR/run
show ckpt ls "$run" | plain
show ckpt ls "$run" --json | plain
show ckpt inspect "$run" | plain | cut -c 1-62
"$DTRAIN" ckpt inspect "$run/ckpt/step-00000006" --json | grep -o '"step": 6' || echo "exit $?"
show ckpt verify "$run" | plain
show ckpt diff "$run" "$run"
show ckpt diff "$run/ckpt/step-00000006" "$run/ckpt/step-00000012" | plain
show ckpt diff "$run/ckpt/step-00000006" "$run/ckpt/step-00000012" --within 100
# from one kind of file into another and back
for file in w.npz w.safetensors v.npz; do
    "$DTRAIN" ckpt convert "${from:-$run}" -o "$TEST_DIR/$file" -q || echo "exit $?"
    from=$TEST_DIR/$file
    "$DTRAIN" ckpt diff "$run" "$from" || echo "exit $?"
done
cmp "$TEST_DIR/w.npz" "$TEST_DIR/v.npz"
"$DTRAIN" ckpt verify "$TEST_DIR/w.npz" "$TEST_DIR/w.safetensors" | hide
"$DTRAIN" evaluate "$tiny" --json >"$TEST_DIR/a" || echo "exit $?"
"$DTRAIN" evaluate "$tiny" --ckpt "$TEST_DIR/w.npz" --json >"$TEST_DIR/b" || echo "exit $?"
[ "$(weights "$TEST_DIR/a")" = "$(weights "$TEST_DIR/b")" ] || echo "other weights"
exits 64 ckpt ls
exits 64 ckpt diff "$run"
exits 64 ckpt diff "$run" "$run" --within -1
exits 64 ckpt convert "$run" -o "$TEST_DIR/w.h5"
exits 66 ckpt ls "$TEST_DIR"
exits 66 ckpt inspect "$TEST_DIR/none"
exits 66 ckpt verify "$TEST_DIR/none"
# damage: a byte in the middle, a cut, another run's file, a file of no tensors
broken() {
    echo "== $1"
    "$DTRAIN" ckpt verify "$2" 2>&1 | hide
    exits 65 ckpt verify "$2"
    exits 65 ckpt inspect "$2"
}
cp -r "$run" "$TEST_DIR/copy"
last=$TEST_DIR/copy/ckpt/step-00000012
printf 'x' | dd of="$last/model.safetensors" bs=1 seek=400 conv=notrunc 2>"$TEST_DIR/dd"
broken "a byte" "$last"
"$DTRAIN" ckpt verify "$TEST_DIR/copy" 2>"$TEST_DIR/err" | plain | hide
head -c 300 "$run/ckpt/step-00000012/model.safetensors" >"$last/model.safetensors"
broken "a cut" "$last"
cp "$run/ckpt/step-00000006/model.safetensors" "$last/model.safetensors"
broken "another step's file" "$last"
echo '{"format": 1}' >"$last/state.json"
broken "no state" "$last"
show ckpt ls "$TEST_DIR/copy" | plain
