#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slices on which a replica of a given number of devices fits.
. tests/cli/setup.sh
show topology --fit 1,2,2,2 --tpu v3-8
show topology --fit 4,4,1,1
"$DTRAIN" topology --fit 2,2,1,2 --tpu v2-8 --json | cut -c 1-240
for wrong in 1,1,1 1,1,1,1,1 1,1,1,0 1,1,1,x '' 65536,65536,1,1; do
    exits 64 topology --fit "$wrong"
done
exits 64 topology --fit 1,1,1,1 --svg -
