#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --expect is read before anything else: a mistake in it is 64 even where the job is missing.
. tests/cli/setup.sh
for text in 'loss' '<1' 'loss<' 'loss=1' 'loss=>1' 'loss<one' 'loss<nan' 'loss<0x1' 'loss < 1 2' 'lo ss<1' 'loss!1' ''; do
    exits 64 fit missing.yaml --expect "$text"
done
cat "$TEST_DIR/err"
for text in 'loss<1' ' loss <= 1e-3 ' 'val_accuracy>=.94' 'a==+1' 'a>-1' 'head-a_f1.macro>=0' "$(printf 'n%.0s' $(seq 300))>0"; do
    exits 66 fit missing.yaml --expect "$text"
done
