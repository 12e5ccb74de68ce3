#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No verb needs a large stack: 64 KiB, of which the system's own libraries take some.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
run=$TEST_DIR/run
if sanitized; then echo "a sanitizer needs a stack of its own" && exit 77; fi
printf 'a,b,y\n1,2,0\n3,4,1\n' >"$TEST_DIR/t.csv"
# shellcheck disable=SC3045 # a shell without it skips
ulimit -s 64 || exit 77
for words in "fit $tiny -q" "fit $tiny -q fit.epochs=3 output.report=html output.tensorboard=true" "evaluate $tiny -q" "predict $tiny" "config show $tiny" \
    'config reference' 'config schema' 'completions bash' 'completions zsh' 'completions fish' 'man dtrain-job.5' 'help Dense' "plan $tiny --tpu v3-8" \
    'topology --tpu v4-128' "lower $tiny" "export $tiny --to onnx -o $TEST_DIR/m.onnx" "data inspect $TEST_DIR/t.csv" "ckpt inspect $run" \
    "ckpt verify $run" "ckpt verify $tiny fit.epochs=3 --replay 3" "report $run" doctor devices; do
    # shellcheck disable=SC2086
    exits 0 $words
done
