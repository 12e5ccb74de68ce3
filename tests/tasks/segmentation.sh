#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A small U-Net as the page makes it: images and masks in two folders. A replica more does not change the weights, predicted masks agree
# with the given ones and are masks again, and pixels of a class that is ignored do not count.
. tests/cli/setup.sh
. tests/cli/pages.sh
page recipes
step 'cat > street.py'
step 'python3 street.py'
given street.yaml
step 'dtrain fit street.yaml'
cut -c 1-9 said | uniq
step 'dtrain predict street.yaml'
cat said
# One image alone: its mask has its name.
dtrain predict street.yaml --input street/images/005.png -o alone/
ls alone
cmp alone/005.png found/005.png
# What was found trains as well as what was given.
dtrain fit street.yaml -q output.dir=runs/found dataset.train.mask=found \
    'dataset.element.image={shape: [32, 32, 3], interpolation: bilinear}' --expect 'val_mean_io_u > 0.8'
dtrain fit street.yaml -q output.dir=runs/two 'strategy={type: mirrored, devices: ["CPU:0", "CPU:1"]}'
dtrain ckpt diff runs/street runs/two
# The second class is ignored, so the model never predicts it.
dtrain fit street.yaml -q output.dir=runs/ignored 'compile.loss={sparse_categorical_crossentropy: {ignore_class: 1}}' \
    'compile.metrics=[{MeanIoU: {num_classes: 3, sparse_y_pred: false, ignore_class: 1}}]' --expect 'val_mean_io_u > 0.5'
# Two images lose their masks, one mask is broken, and one has no image.
rm street/masks/003.png street/masks/007.png
head -c 60 street/masks/010.png >part
mv part street/masks/010.png
cp street/masks/011.png street/masks/other.png
dtrain fit street.yaml --fresh -q 2>&1 | sed -n '1p'
dtrain validate --data street.yaml 2>&1 | grep -o 'error: .*'
dtrain fit street.yaml --fresh -q dataset.on_error=skip 2>&1
