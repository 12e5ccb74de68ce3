#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
show devices all
show devices --jsn
