#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples of the reference documents, in C, print what the documents show.
. tests/cli/setup.sh
for name in mirrored_variable reduce values_from_function gather distribute_dataset tfrecord tpu_run tpu_custom_loop \
    device_assignment assign_to_logical_device replicate_to_logical_devices split_to_logical_devices; do
    [ -x "$BUILD/examples/$name" ] || { echo "no $BUILD/examples/$name: make examples" && exit 77; }
    echo "== $name"
    "$BUILD/examples/$name" 2>&1 || echo "exit $?"
done
