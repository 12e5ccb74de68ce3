#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
show topology
show topology a.yaml b.yaml
show topology --tpv v3-8
