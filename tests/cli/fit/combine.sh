#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Steps of map that combine two examples of a batch: the same weights for any number of replicas, threads and workers, for a run that was stopped and
# resumed, and whether examples are in memory or decoded one by one; validation and prediction do not combine; what is refused.
# check-fast: data train
. tests/cli/setup.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
seed: 5
reproducible: {shards: 6}
dataset:
  format: synthetic
  examples: 53
  element: {image: {shape: [12, 10, 3]}, label: {num_classes: 3}}
  map:
    image: [random_crop: [11, 9], random_flip, mixup: 0.8, rand_augment: {value_range: [0, 1]}, normalize: {mean: [0.4, 0.5, 0.6], std: 0.25}]
    label: [one_hot: 3, mixup: 0.8]
  shuffle: true
  repeat: 2
  validation_split: 0.2
  global_batch_size: 12
model:
  layers:
    - Input: {name: image, shape: [11, 9, 3]}
    - Flatten
    - Dense: {units: 3}
compile: {optimizer: Adam, loss: {CategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 3}
output: {dir: "$TEST_DIR/run"}
END
# run WORDS...: the hash of the weights
run() {
    "$DTRAIN" fit "$job" --json "$@" 2>"$TEST_DIR/err" | sed -n 's/.*"event":"end".*"weights_sha256":"\([0-9a-f]*\)".*/\1/p'
    cat "$TEST_DIR/err" >&2
}
same() {
    what=$1
    shift
    got=$(run "$@")
    [ -n "$got" ] && [ "$got" = "$plain" ] && echo "$what: the same" || echo "$what: $got, not $plain"
}
cutmix='dataset.map={image: [random_crop: [11, 9], cutmix, rescale: {scale: 2}], label: [one_hot: 3, cutmix]}'
for step in mixup cutmix; do
    echo "== $step"
    set --
    [ $step = mixup ] || set -- "$cutmix"
    plain=$(run "$@" --fresh)
    same '3 replicas' "$@" 'strategy={type: mirrored, replicas: 3}' --fresh
    same '3 threads ahead' "$@" dataset.num_parallel_calls=3 dataset.prefetch=2 --fresh --threads 1
    for n in 2 3; do
        same "$n workers" "$@" --fresh --workers $n
        same "$n workers in one process" "$@" --fresh "strategy={type: multi_worker_mirrored, workers: $n}"
    done
    run "$@" --fresh --steps 9 >"$TEST_DIR/cut"
    same 'stopped after 9 steps' "$@" --resume must
    [ "$(run "$@" seed=6 --fresh)" != "$plain" ] && echo 'another seed: other weights'
done
echo '== pictures, decoded one by one'
python3 - "$TEST_DIR" <<'END'
import os, struct, sys, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
for c in range(3):
    os.makedirs('%s/set/%d' % (sys.argv[1], c))
    for i in range(15):
        rows = b''.join(b'\0' + bytes((c * 80 + i * 7 + r * 3 + k) % 256 for k in range(30)) for r in range(12))
        with open('%s/set/%d/%d.png' % (sys.argv[1], c, i), 'wb') as f:
            f.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 10, 12, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
END
job=$TEST_DIR/pictures.yaml
sed "/examples:/d; s|format: synthetic|format: image_folder\\n  train: $TEST_DIR/set|" "$TEST_DIR/job.yaml" >"$job"
set -- "$cutmix"
plain=$(run "$@" --fresh)
same 'without a cache' "$@" dataset.cache=false --fresh
same '3 threads ahead' "$@" dataset.cache=false dataset.num_parallel_calls=3 --fresh --threads 1
same '2 workers' "$@" --fresh --workers 2
echo '== examples in memory, with a weight that is not combined'
job=$TEST_DIR/job.yaml
set -- compile.sample_weight=w 'dataset.map.w=[rescale: {scale: 0.1, offset: 1}]' --fresh
plain=$(run dataset.element.w={} "$@")
"$DTRAIN" data convert "$job" dataset.element.w={} dataset.validation_split=0 dataset.repeat=1 compile.sample_weight=w -q -o "$TEST_DIR/set.npz"
file=$TEST_DIR/set.npz
job=$TEST_DIR/arrays.yaml
sed "/element:/d; s|format: synthetic|format: npz|; s|examples: .*|train: {image: $file, label: $file, w: $file}|" "$TEST_DIR/job.yaml" >"$job"
same 'in memory' "$@"
echo '== without the step, other weights; of the same validation data'
job=$TEST_DIR/job.yaml
first=$(run 'dataset.map={image: [random_crop: [11, 9]], label: [one_hot: 3]}' --fresh)
[ "$first" != "$(run --fresh)" ] && echo 'other weights'
"$DTRAIN" evaluate "$job" 'dataset.map={image: [center_crop: [11, 9]], label: [one_hot: 3]}' >"$TEST_DIR/without" && echo evaluated
"$DTRAIN" evaluate "$job" 'dataset.map={image: [center_crop: [11, 9], mixup], label: [one_hot: 3, mixup]}' >"$TEST_DIR/with" && echo evaluated
diff "$TEST_DIR/without" "$TEST_DIR/with" && echo 'the same metrics'
cd "$TEST_DIR" || exit 1
echo '== refused'
show validate job.yaml 'dataset.map={image: [random_crop: [11, 9], mixup], label: [one_hot: 3]}'
show validate job.yaml 'dataset.map={image: [random_crop: [11, 9]], label: [one_hot: 3, mixup]}'
show validate job.yaml 'dataset.map={image: [random_crop: [11, 9], mixup: 0.2], label: [one_hot: 3, mixup: 0.3]}'
show validate job.yaml 'dataset.map={image: [random_crop: [11, 9], mixup], label: [one_hot: 3, cutmix]}'
show validate job.yaml 'dataset.map={image: [random_crop: [11, 9], mixup, cutmix], label: [one_hot: 3, mixup, cutmix]}'
show validate job.yaml 'dataset.map={image: [random_crop: [11, 9], mixup], label: [mixup]}'
show validate job.yaml 'dataset.map={image: [random_crop: [11, 9], mixup: 0], label: [one_hot: 3, mixup: 0]}'
show validate job.yaml 'dataset.map={image: [random_crop: [11, 9], MixUp], label: [one_hot: 3]}'
