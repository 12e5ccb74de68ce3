#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sum over the batch as one fixed tree over four shards.
. tests/cli/setup.sh
. tests/cli/jobs.sh
stages tests/jobs/tiny_shards.yaml
