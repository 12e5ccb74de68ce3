#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
show lower
show lower a.yaml b.yaml
show lower a.yaml --stage hlo
show lower a.yaml --stage
exits 66 lower "$TEST_DIR/a.yaml"
