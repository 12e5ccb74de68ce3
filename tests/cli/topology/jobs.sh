#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job's replicas, on its own slice and on others, with its own cores_per_chip.
. tests/cli/setup.sh
write_tiny
on() {
    "$DTRAIN" topology "$@" 2>&1 | hide | sed -n '/^v/p; /error/p; /logical/p; /used/p; /Gradients/p; /= use/p'
    echo
}
pairs='device_assignment: {computation_shape: [1, 1, 1, 2], num_replicas: 4}'
on "$tiny" "strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}, $pairs}"
on --tpu v2-32 "$tiny" "strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}, $pairs}"
on --tpu v4-8 "$tiny" "strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}, $pairs}"
on --tpu v4-8 --cores-per-chip 2 "$tiny" "strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}, $pairs}"
on --tpu v5p-8 "$tiny" "strategy={type: tpu, cluster_resolver: {tpu: sim:v4-8, cores_per_chip: 2}, $pairs}"
on "$tiny" 'strategy={type: tpu, cluster_resolver: {tpu: sim:v4-512}, device_assignment: {computation_shape: [2, 2, 2, 1], num_replicas: 32}}'
on "$tiny" 'strategy={type: tpu, cluster_resolver: {tpu: "sim:v4:4x4x8_twisted"}, device_assignment: {computation_shape: [4, 1, 1, 1], num_replicas: 32}}'
