#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F07, F08: a read-only place, and a disk that is full at some checkpoint: 73 and 74, the checkpoints before it stand; with room the same
# command goes on to the weights of the undisturbed run.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
disk=$TEST_DIR/disk
mkdir "$disk"
export DTRAIN tiny disk

# on_disk OPTIONS SCRIPT: runs a script with a small disk of its own at $disk, gone afterwards.
on_disk() {
    unshare -rm sh -c "mount -t tmpfs -o $1 none \"\$disk\" && { $2
    }" 2>"$TEST_DIR/err"
}
on_disk size=1m true || { echo "no disks of one's own here: $(head -n 1 "$TEST_DIR/err")" && exit 77; }

# shellcheck disable=SC2016 # the inner shell expands them
fit='"$DTRAIN" fit "$tiny" -q output.dir="$disk/run"'
# 160 KiB are more than the two checkpoints that are asked for, and fewer than twenty-four.
every_step="$fit fit.epochs=4 checkpoint.save_freq=1 checkpoint.max_to_keep=100"

on_disk ro "$fit"
echo "read-only: exit $?"
hide <"$TEST_DIR/err"
on_disk size=16k "$fit"
echo "no room for two checkpoints: exit $?"
hide <"$TEST_DIR/err" | sed 's/[0-9.]* KiB/N KiB/g'
on_disk size=160k "
    $every_step; echo \"full: exit \$?\"
    $every_step; echo \"still full: exit \$?\"
    ls \"\$disk/run/ckpt\" | grep tmp
    mount -o remount,size=1m \"\$disk\"
    $every_step --json; echo \"with room: exit \$?\"" >"$TEST_DIR/out"
grep 'exit [0-9]' "$TEST_DIR/out"
grep -v 'exit [0-9]' "$TEST_DIR/out" >"$TEST_DIR/lines"
grep -o 'no space left on device\|two checkpoints need' "$TEST_DIR/err"
grep -q '"resumed_step"' "$TEST_DIR/lines" || echo "it began anew"
[ "$(weights "$TEST_DIR/lines")" = "$(hash "$tiny" fit.epochs=4 checkpoint.save_freq=1)" ] || echo "other weights after a full disk"
