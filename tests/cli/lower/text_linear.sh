#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Linear regression: one product, one sum over the batch.
. tests/cli/setup.sh
. tests/cli/jobs.sh
stages tests/jobs/tiny_linear.yaml
