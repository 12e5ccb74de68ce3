#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slices of all sizes: folded, wrapped, twisted, with one device a chip or each core by itself.
. tests/cli/setup.sh
show topology --tpu v5e-8
show topology --tpu v4-8 --cores-per-chip 2
show topology --tpu v4:4x4x8_twisted
show topology --tpu v5p:16x16x24
LC_ALL=C.UTF-8 show topology --tpu v6e-128
show topology --tpu v3-8 --cores-per-chip 1
show topology --tpu v4:4x4x4_twisted
show topology --tpu v5p:8x4x4
for type in v2-512 v3-2048 v5litepod-128 v5e-128 v6e-64 tpu7x-128 V4:4X4X4 v4:4x8x8_untwisted tpu7x-18432; do
    echo "$type: $("$DTRAIN" topology --tpu $type --json | cut -d '[' -f 1-3 | cut -d '"' -f 3-26)"
done
