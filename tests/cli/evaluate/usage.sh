#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
show evaluate
show evaluate a.yaml --split tset
show evaluate a.yaml --expect 'loss=<1'
show evaluate a.yaml --resume auto
exits 66 evaluate "$TEST_DIR/a.yaml"
