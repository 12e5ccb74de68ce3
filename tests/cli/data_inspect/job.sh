#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job's data as its model gets it, and what is wrong on the command line.
. tests/cli/setup.sh
write_tiny
show data inspect "$tiny" -r 1 dataset.map.image='[{rescale: {scale: 0}}]'
show data inspect "$tiny" -r 0 --split validation
show data inspect "$tiny" -r 0 --split test
show data inspect
show data inspect "$tiny" -r -1
show data inspect "$tiny" --split other
