#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One-hot targets against a softmax layer on eight simulated cores: the loss takes the logits.
. tests/cli/setup.sh
. tests/cli/jobs.sh
stages tests/jobs/tiny_one_hot.yaml
