#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Overrides of the strategy stay when --tpu plans another slice. Where one does not fit, the error names the override, not a line of the file.
. tests/cli/setup.sh
write_tiny
show plan "$tiny" --tpu v3-8 strategy.replicas=4
sed 's/replicas: 2/devices: ["CPU:0", "CPU:1"]/' "$tiny" >"$TEST_DIR/devices.yaml"
show plan "$TEST_DIR/devices.yaml" --tpu v3-8 strategy.devices.1=CPU:2
show plan "$tiny" --tpu v3-8 strategy.device_assignment.num_replicas=9
"$DTRAIN" plan "$tiny" --tpu v3-8 strategy.device_assignment.num_replicas=4 | head -n 1
# of a mapping what the override says alone
sed 's/type: mirrored, replicas: 2/type: multi_worker_mirrored, cluster_resolver: {task: {type: worker, index: 0}}/' "$tiny" >"$TEST_DIR/workers.yaml"
"$DTRAIN" plan "$TEST_DIR/workers.yaml" --tpu v5p-8 strategy.cluster_resolver.cores_per_chip=2 | head -n 1
"$DTRAIN" plan "$TEST_DIR/workers.yaml" --tpu v5p-8 | head -n 1
