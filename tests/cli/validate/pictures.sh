#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pictures that cannot be read: all of them are listed, or left out with a count; what remains is the same for any number of replicas.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
mkdir -p set/cat/old set/dog
echo iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGiAAAAFElEQVR4nGNkYGRkZGRhZGRkgRMAAVEAI9SIzDgAAAAASUVORK5CYII= | base64 -d >set/cat/1.png
echo R0lGODdhBAAEAIEAANDQ0IiIiEhISBAQECwAAAAABAAEAAAIDwAHCBRAUECAgwEAKFQYEAA7 | base64 -d >set/cat/old/2.gif
echo Qk1OAAAAAAAAAD4AAAAoAAAABAAAAAQAAAABAAEAAAAAABAAAADEDgAAxA4AAAIAAAACAAAAAAAAAP///wDwAAAA0AAAACAAAAAAAAAA | base64 -d >set/dog/3.bmp
cp set/cat/1.png set/dog/4.png
cat >job.yaml <<'END'
version: 1
seed: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: image_folder
  train: set
  global_batch_size: 4
  element: {image: {shape: [4, 4, 1]}, label: {num_classes: 2}}
model:
  layers: [Input: {name: image, shape: [4, 4, 1]}, Flatten, Dense: {name: pet, units: 2}]
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
END
show validate --data job.yaml
head -c 40 set/cat/1.png >set/cat/cut.png
head -c 40 set/cat/old/2.gif >set/dog/cut.gif
head -c 70 set/dog/3.bmp >set/dog/cut.bmp
echo text >set/dog/notes.txt
show validate job.yaml
show validate --data job.yaml
show validate --data --json job.yaml dataset.on_error=skip
show validate job.yaml dataset.on_error=skip
show validate --data --no-data job.yaml
for n in 1 2 3; do
    "$DTRAIN" fit job.yaml dataset.on_error=skip "strategy.devices=[$(echo CPU:0 CPU:1 CPU:2 | cut -d' ' -f"1-$n" | tr ' ' ,)]" \
        output.dir="run$n" >"out$n" 2>&1 || cat "out$n"
    grep -o 'warning: .*' "out$n"
    "$DTRAIN" ckpt ls "run$n" --json | grep -o '"weights_sha256": "[0-9a-f]*"' | tail -1 | cksum
done | sort | uniq -c | sed 's/^ *//; s/ [0-9]* [0-9]*$/ weights/'
"$DTRAIN" evaluate job.yaml --split train dataset.on_error=skip output.dir=run1 2>&1 | grep 'left out'
"$DTRAIN" data convert job.yaml dataset.on_error=skip -o set.npz 2>&1 | grep 'left out'
