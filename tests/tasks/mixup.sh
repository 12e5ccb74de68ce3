#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A classifier of pictures, trained on mixtures of two by the page's command: it sorts pictures that are not mixed, and cutmix and rand_augment fit the
# same job.
. tests/cli/setup.sh
. tests/cli/pages.sh
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
page recipes
sed -n '/^\$ cat > shapes.py/,/^> END/s/^> //p' "$page" | sed '$d' >shapes.py
python3 shapes.py
given shapes.yaml
line=$(shown 'dtrain fit shapes.yaml output.dir=runs/mixed' | sed 's/ | tail -n 2$//')
sh -c "$line -q --expect 'val_accuracy >= 0.9'" || echo "exit $? of: $line"
mixed=$(echo "$line" | sed 's/^dtrain fit/dtrain predict/')
sh -c "$mixed --input shapes/circle/000.png --top 1" | cut -d , -f 1
line=$(echo "$line" | sed 's/mixup/cutmix/g; s/runs.mixed/runs\/cut/; s/rescale/random_rotation: 0.1, rescale/')
sh -c "$line -q --expect 'val_accuracy >= 0.8'" || echo "exit $? of: $line"
page data
sed -n 's/^    image: \[\(random_flip: horizontal, rand_augment.*\)\]$/\1/p' "$page" >steps
dtrain fit shapes.yaml -q output.dir=runs/augmented "dataset.map.image=[$(cat steps)]" 'dataset.element.image.shape=[32, 32, 3]' 'model.layers.0.Input.shape=[32, 32, 3]' fit.epochs=10 --expect 'val_accuracy >= 0.8' || echo "exit $?"
