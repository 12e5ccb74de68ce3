#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
show version
show version more
show fit --version
