#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --input replaces the job's data, so --split beside it is a mistake; the default split is none.
. tests/cli/setup.sh
write_tiny
cd "$TEST_DIR" || exit 1
for verb in evaluate predict; do
    exits 64 $verb tiny.yaml --input new.csv --split validation
    has err 'which --input replaces'
    exits 66 $verb tiny.yaml --input new.csv
    lacks err '--split'
done
