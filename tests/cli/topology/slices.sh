#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slices drawn; --tpu and the word after it; slices that do not exist.
. tests/cli/setup.sh
write_tiny
show topology --tpu v3-8
show topology --tpu=v2-8
"$DTRAIN" topology --tpu v3-8 --json | cut -c 1-1
exits 64 topology --tpu v9-8
exits 64 topology --tpu 3x
exits 78 topology "$tiny" 'strategy={type: tpu, cluster_resolver: {tpu: sim:v9-8}}'
exits 0 topology --tpu "$tiny" 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}'
exits 0 topology "$tiny" --tpu v2-8 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}'
exits 0 topology --tpu
show topology --tpu v4-512_twisted
