#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
show version
show version more
"$DTRAIN" version --json | sed 's/"compiler":"[^"]*"/"compiler":"..."/'
show fit --version
