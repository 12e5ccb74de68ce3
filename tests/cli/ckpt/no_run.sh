#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A path that holds no run: 66, and the runs that are near, for every verb that takes a run or a checkpoint.
. tests/cli/setup.sh
write_tiny
cd "$TEST_DIR" || exit 1
for name in base wide deep; do "$DTRAIN" fit tiny.yaml -q output.dir=runs/$name; done
mkdir empty other other/only new new/ckpt
cp -r runs/base other/only/run
echo text >notes.txt
show fit tiny.yaml --resume runs
show fit tiny.yaml --resume runs/
show evaluate tiny.yaml --ckpt runs/bse
show evaluate tiny.yaml --ckpt "$PWD/runs/wid"
show predict tiny.yaml --ckpt other/only
show ckpt inspect runs/base/ckpt
show ckpt verify runs/base/ckpt/step-12
show ckpt ls runs
show report runs/nothing
show fit tiny.yaml --resume empty
show fit tiny.yaml --resume new
show fit tiny.yaml --resume notes.txt
show fit tiny.yaml --resume nothing/at/all
show validate tiny.yaml model.init_from=runs
for name in 1 2 3 4 5 6; do cp -r runs/base runs/copy-$name; done
show ckpt inspect runs
# a checkpoint without its state is damaged, whatever its name
cp -r runs/base/ckpt/step-00000012 kept
rm kept/state.json runs/wide/ckpt/step-00000012/state.json
show ckpt inspect kept
show ckpt inspect runs/wide/ckpt/step-00000012
# one of another step than its name says, too, with the slash that a shell adds
mv runs/deep/ckpt/step-00000012 runs/deep/ckpt/step-00000013
show ckpt verify runs/deep/ckpt/step-00000013
show ckpt verify runs/deep/ckpt/step-00000013/
ls
