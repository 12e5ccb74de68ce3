#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: file data
# Small files of large pictures: readers share the memory they are decoded into, which is announced, and pictures beyond the limit are refused by their header.
. tests/cli/setup.sh
python=$(command -v python3) || { echo "no python3"; exit 77; }
cd "$TEST_DIR" || exit 1
cat >png.py <<'END2'
import os, struct, sys, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
def png(path, side, rows):
    head = struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0)
    z = zlib.compressobj(1)
    body = b''.join(z.compress(bytes(1 + 3 * side)) for _ in range(rows)) + z.flush()
    with open(path, 'wb') as f:
        f.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', body) + chunk(b'IEND', b''))
for c in 'ab':
    os.makedirs('set/' + c), os.makedirs('bomb/' + c)
    for i in range(4):
        png('set/%s/%d.png' % (c, i), 5000, 5000)  # 72 MiB of pixels
    png('bomb/%s/1.png' % c, 13378, 0)
END2
"$python" png.py
cat >job.yaml <<'END2'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: image_folder
  train: set
  element: {image: {shape: [8, 8, 3], interpolation: nearest}, label: {num_classes: 2}}
  global_batch_size: 1
  num_parallel_calls: 8
  prefetch: 8
model:
  layers:
    - Input: {name: image, shape: [8, 8, 3]}
    - Flatten
    - Dense: {units: 2}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: run}
END2
# A sanitizer keeps what was freed for a while.
ASAN_OPTIONS=quarantine_size_mb=1${ASAN_OPTIONS:+:$ASAN_OPTIONS} "$python" - "$DTRAIN" <<'END2'
import resource, subprocess, sys
code = subprocess.run([sys.argv[1], 'fit', 'job.yaml', '-q']).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print('exit', code, 'peak below 400 MiB' if peak < 400 << 10 else 'peak %d KiB' % peak)
END2
echo '== announced: three pictures at a time, or as many as there are threads'
for threads in 8 2; do
    "$DTRAIN" fit job.yaml -n --fresh "dataset.num_parallel_calls=$threads" | sed -n 's/.*\(data [0-9.]* MiB\),.*/\1/p'
done
exits 65 fit job.yaml dataset.train=bomb output.dir=bombed
sed -n 's/.*error: //p' err
show data inspect bomb | grep pixels
