#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trainings recorded from Keras' fit, done again by XLA on two devices: history, evaluation and weights within 1e-4: tests/train/fit_golden_test.c.
. tests/cli/setup.sh
. tests/cli/jobs.sh
# shellcheck source=/dev/null
. tests/cli/pjrt.inc
on_xla train/fit_golden_test
