#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
. tests/cli/jobs.sh
. tests/cli/rows.sh
rows tests/cli/catalogue/syntax.rows
