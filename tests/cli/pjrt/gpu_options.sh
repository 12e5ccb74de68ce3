#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The options that a GPU plug-in gets when it starts, which a fake one prints (tests/pjrt/fake_device.c): options of the job with their kinds, the variables that JAX reads, the
# devices that compute, and no memory where devices are only listed.
. tests/cli/setup.sh
write_tiny
fake=$BUILD/tests/pjrt/fake_device.so
[ -f "$fake" ] || { echo "no $fake: make $BUILD/tests/pjrt/client_test" && exit 77; }
unset XLA_CLIENT_MEM_FRACTION XLA_PYTHON_CLIENT_MEM_FRACTION XLA_PYTHON_CLIENT_PREALLOCATE XLA_PYTHON_CLIENT_ALLOCATOR
export FAKE_DEVICE='gpu options'
n=0
started() {
    n=$((n + 1))
    "$DTRAIN" fit "$tiny" -q --plugin "$fake" "$@" "output.dir=$TEST_DIR/run-$n" 2>&1 | sed 's/^[^ ]*yaml:[0-9:]*/JOB/' | grep -E 'options|error|devices'
}
started 'strategy={type: one_device, device: "GPU:0"}'
started 'strategy={type: mirrored, replicas: 2}'
started 'backend={type: pjrt, memory_fraction: 0.9, preallocate: false, options: {max_inflight_computations: 4, allocator: bfc}}'
XLA_PYTHON_CLIENT_MEM_FRACTION=.5 XLA_PYTHON_CLIENT_PREALLOCATE=false started 'backend={type: pjrt, memory_fraction: 0.25}'
started 'strategy={type: mirrored, devices: ["GPU:3", "GPU:1"]}'
started 'strategy={type: mirrored, devices: ["GPU:3", "GPU:9"]}'
started 'strategy={type: mirrored}'
echo 'refused:'
started 'backend={type: pjrt, memory_fraction: 2}'
started 'backend={type: pjrt, options: {preallocate: 0}}'
started 'backend={type: pjrt, options: {memory_fraction: high}}'
started 'backend={type: pjrt, memory_fraction: 0.5, options: {memory_fraction: 0.6}}'
started 'backend={type: pjrt, options: {bogus: 1}}' | sed 's|error: .*/fake_device|error: FAKE|'
started 'backend={type: cpu, preallocate: false}'
XLA_CLIENT_MEM_FRACTION=.5 XLA_PYTHON_CLIENT_MEM_FRACTION=.5 started
echo 'listed:'
"$DTRAIN" devices --plugin "$fake" 2>&1 | grep '^options'
echo 'recorded:'
FAKE_DEVICE=gpu "$DTRAIN" fit "$tiny" -q --plugin "$fake" "output.dir=$TEST_DIR/peak" || echo "exit $?"
grep -c '"device_peak_bytes": 123456' "$TEST_DIR/peak/record.jsonl"
grep -o '"backend": "[a-z]*"' "$TEST_DIR/peak/record.jsonl"
"$DTRAIN" fit "$tiny" -q "output.dir=$TEST_DIR/none"
grep -q device_peak_bytes "$TEST_DIR/none/record.jsonl" || echo "not on cpu"
