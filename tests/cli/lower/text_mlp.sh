#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A hidden layer under Adam, two replicas folded into one program of two segments.
. tests/cli/setup.sh
. tests/cli/jobs.sh
stages tests/jobs/tiny_mlp.yaml
