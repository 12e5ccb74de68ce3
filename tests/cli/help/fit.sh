#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
"$DTRAIN" help fit
