#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs of images and masks that are refused: keys, names, formats and colors.
. tests/cli/setup.sh
python=$(command -v python3) || { echo "no python3"; exit 77; }
cd "$TEST_DIR" || exit 1
cat >png.py <<'END2'
import os, struct, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
def png(path, bits, kind, row, rows=2):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 2, rows, bits, kind, 0, 0, 0))
                + chunk(b'IDAT', zlib.compress((b'\0' + row) * rows)) + chunk(b'IEND', b''))
for name in 'ab':
    png('images/%s.png' % name, 8, 2, bytes(6))
    png('masks/%s.png' % name, 8, 0, b'\0\1')
    png('colors/%s.png' % name, 8, 2, bytes((0, 0, 0, 9, 9, 9)))
    png('wide/%s.png' % name, 16, 0, bytes(4))
    png('large/%s.png' % name, 8, 0, b'\0\7')
    png('named/%s_mask.png' % name, 8, 0, b'\0\1')
    png('twice/%s.png' % name, 8, 0, b'\0\1')
for name in 'ab':
    png('tall/%s.png' % name, 8, 0, b'\0\1', 3)
png('twice/a.gif', 8, 0, b'\0\1')
END2
"$python" png.py
cat >job.yaml <<'END2'
version: 1
dataset:
  format: image_folder
  train: {image: images, mask: masks}
  element: {image: {shape: [2, 2, 3]}, mask: {shape: [2, 2], num_classes: 2}}
  map: {image: [random_flip, rescale: {scale: 0.01}]}
  global_batch_size: 2
model: {layers: [Input: {name: image, shape: [2, 2, 3]}, Conv2D: {filters: 2, kernel_size: 1, activation: softmax}]}
compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}
fit: {epochs: 1}
END2
try() { "$DTRAIN" fit job.yaml -q --fresh "$@" 2>&1 | sed -n 's/.*error: //p; s/^ *| *\^*//p' && echo; }
try && echo fine
try dataset.train=images
try 'dataset.train={image: images}'
try 'dataset.train={image: images, mask: masks, more: masks}'
try 'dataset.element.mask.shape=[1, 1]'
try 'dataset.element.mask.shape=[2, 2, 3]'
try 'dataset.element.mask.interpolation=bilinear'
try 'dataset.element.mask.colors=[0]'
try 'dataset.element.mask.colors=[0, 0]'
try 'dataset.element.mask.colors=[0, [1, 2]]'
try 'dataset.element.mask.colors=[0, 256]'
try 'dataset.element={image: {shape: [2, 2, 3], suffix: _mask}, mask: {shape: [2, 2], num_classes: 2}}'
try dataset.train.mask=colors
try dataset.train.mask=colors 'dataset.element.mask.colors=[0, [9, 9, 8]]'
try dataset.train.mask=colors 'dataset.element.mask.colors=[0, [9, 9, 9]]' && echo fine
try dataset.train.mask=wide
try dataset.train.mask=tall
try dataset.train.mask=large
try dataset.train.mask=large 'compile.loss={sparse_categorical_crossentropy: {ignore_class: 7}}' && echo fine
try dataset.train.mask=named
try dataset.train.mask=named dataset.element.mask.suffix=_mask && echo fine
try dataset.train.mask=twice
try dataset.train.mask=nowhere
try 'dataset.map.image=[mixup, random_flip]'
try 'dataset.map={image: [cutmix], mask: [mixup]}'
try 'dataset.map={image: [cutmix]}' && echo fine
try 'dataset.map={image: [mixup]}'
try 'dataset.map={image: [random_rotation: {factor: 0.1, fill_mode: constant, fill_value: -1}]}'
"$DTRAIN" predict job.yaml --split train -q -o out/ && ls out
"$DTRAIN" predict job.yaml --split train -q -o out/ 2>&1
"$DTRAIN" predict job.yaml --split train -q -o - --format png 2>&1
"$DTRAIN" predict job.yaml --split train -q -o out/ --top 1 2>&1 || true
