#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Photos as people have them: in folders of folders, some broken, one lying on its side. What is broken is listed and left out, and training
# with the others gives the weights of the collection without broken files.
. tests/cli/setup.sh
. tests/cli/pages.sh
page recipes
step 'cat > shapes.py'
step 'python3 shapes.py'
given shapes.yaml
dtrain fit shapes.yaml -q output.dir=runs/clean
mkdir -p shapes/square/2024/may
mv shapes/square/11* shapes/square/2024/may
head -c 100 shapes/circle/000.png >shapes/circle/cut.png
echo 'GIF89a' >shapes/square/2024/cut.gif
echo text >shapes/readme.txt
dtrain validate --data shapes.yaml 2>&1 | grep -o 'error: .*'
dtrain fit shapes.yaml dataset.on_error=skip -q output.dir=runs/skip 2>&1
dtrain ckpt diff runs/clean runs/skip
dtrain predict shapes.yaml output.dir=runs/skip --input 'shapes/circle/00*.png' --top 1 | wc -l
dtrain predict shapes.yaml output.dir=runs/skip --input 'shapes/circle/*.jpg' 2>&1 || true
