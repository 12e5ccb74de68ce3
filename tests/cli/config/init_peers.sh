#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs of `config init --from`, as they are written, against scikit-learn: the tables that it ships, two like titanic and penguins, and 100,000 rows.
# shellcheck disable=SC2154 # TEST_DIR, DTRAIN
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the numbers are those of the plain build; other cases run this code under sanitizers" && exit 77; fi
python=$(scripts/python-tools numpy pandas sklearn) || exit 77
OMP_NUM_THREADS=1 "$python" tests/cli/config/init_peers.py "$DTRAIN" "$TEST_DIR"
