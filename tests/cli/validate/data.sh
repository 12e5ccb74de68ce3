#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Data files are looked at only when the job is valid, and not with --no-data.
. tests/cli/setup.sh
write_tiny
sed 's|format: synthetic|format: npy|; s|examples: 60|train: {image: x.npy, label: y.npy}|; /element:/d' "$tiny" >"$TEST_DIR/npy.yaml"
exits 66 validate "$TEST_DIR/npy.yaml"
exits 0 validate "$TEST_DIR/npy.yaml" --no-data
exits 78 validate "$TEST_DIR/npy.yaml" fit.epochs=0
