#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random steps through the C client on XLA are the interpreter's, and random numbers have the same bits: tests/backend/random_test.c.
# Long sums keep their digits: tests/backend/long_sums_test.c.
. tests/cli/setup.sh
. tests/cli/jobs.sh
# shellcheck source=/dev/null
. tests/cli/pjrt.inc
on_xla backend/random_test
on_xla backend/long_sums_test
