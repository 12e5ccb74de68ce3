#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Below output.dir a run follows no link: where a folder on the way to what a callback writes is one, it ends with 73 before anything is written
# behind it. output.dir itself may be a link.
. tests/cli/setup.sh
write_tiny
run=$TEST_DIR/run
mkdir -p "$run" "$TEST_DIR/there/train"
echo theirs >"$TEST_DIR/there/train/events.out.tfevents.1.host.1.0"
ln -s ../there "$run/sub"
ln -s ../there "$run/tb"
mkdir "$run/half" && ln -s ../../there/train "$run/half/train"
ln -s ../there "$run/e2"
# refused CALLBACK: the run that has it.
refused() {
    show fit "$tiny" --fresh -q "fit.callbacks=[$1]"
}
refused 'CSVLogger: {filename: sub/log.csv}'
refused 'CSVLogger: {filename: sub//new/log.csv}'
refused 'TensorBoard'
refused 'TensorBoard: {log_dir: ./sub/deep}'
refused 'TensorBoard: {log_dir: half}'
refused 'ModelCheckpoint: {filepath: sub/best}'
refused 'ModelCheckpoint: {filepath: "e{epoch}/w.safetensors", save_weights_only: true}'
(cd "$TEST_DIR/there" && find . -type f && cat train/*)
[ -f "$run/e1/w.safetensors" ] || echo "nothing of the first epoch"

ln -s there "$TEST_DIR/link"
exits 0 fit "$tiny" -q output.dir="$TEST_DIR/link" 'fit.callbacks=[CSVLogger: {filename: new/log.csv}, TensorBoard, ModelCheckpoint: {filepath: new/best}]'
wc -l <"$TEST_DIR/there/new/log.csv"
