#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
show validate
show validate a.yaml --format xml
show validate fit.epochs=1
exits 66 validate "$TEST_DIR/a.yaml" "$TEST_DIR/b.yaml"
has "$TEST_DIR/err" "2 of 2 jobs are not valid"
