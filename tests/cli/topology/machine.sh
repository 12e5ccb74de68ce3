#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --tpu without a type: the type in the environment, else a simulated v3-8; the picture names it.
. tests/cli/setup.sh
unset TPU_NAME TPU_ACCELERATOR_TYPE TPU_TOPOLOGY
try() {
    echo "$*"
    env "$@" "$DTRAIN" topology --tpu 2>&1 | sed -n '1,2s/^/    /p'
}
try UNUSED=
try TPU_NAME=v4-16
try TPU_NAME=my-tpu
try TPU_ACCELERATOR_TYPE=v5litepod-16
try TPU_ACCELERATOR_TYPE=v5litepod-16 TPU_TOPOLOGY=4x4
try TPU_ACCELERATOR_TYPE=v4-512 TPU_TOPOLOGY=4x4x16
try TPU_ACCELERATOR_TYPE=v4-512 TPU_TOPOLOGY=2x2x2
try TPU_ACCELERATOR_TYPE=v4-512 TPU_TOPOLOGY=nonsense
try TPU_ACCELERATOR_TYPE=v9-1
