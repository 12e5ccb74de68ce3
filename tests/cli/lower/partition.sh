#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a job's `partition` leaves in the graph of a step: one note on each weight, one on each value that is named, and on what comes
# back through it; with one logical device a replica there are none.
. tests/cli/setup.sh
# Each note as "what it is on: note : type  // layer".
notes() {
    "$DTRAIN" lower "$@" | awk '
        $3 == "variable" || $3 == "parameter" { name[$1] = $4 }
        /@Sharding/ {
            of = $3
            gsub(/custom_call\(|\)/, "", of)
            what = of in name ? name[of] : "value"
            sub(/.*@Sharding /, "")
            gsub(/  */, " ")
            print what ": " $0
        }' | sort
}
echo "== graph"
notes tests/jobs/attention.yaml 'partition.self_attention={split: [1, 1, 2]}' --stage graph
echo "== gradient"
notes tests/jobs/attention.yaml 'partition.self_attention={split: [1, 1, 2]}' --stage gradient
echo "== values within layers"
export TEXT="$TEST_DIR/text"
for i in $(seq 500); do echo "to be or not to be, that is question $i"; done >"$TEXT"
notes tests/jobs/gpt.yaml 'partition.decoder_0/self_attention/query={split: [1, 1, 2, 1]}' 'partition.decoder_1/self_attention=replicate' \
    'partition.decoder_1/feedforward_intermediate_dense={split: [1, 1, 2]}' --stage graph
echo "== first match"
notes tests/jobs/attention.yaml 'partition.weights=[{match: "*/kernel", replicate: true}, {match: "*/query/*", split: [2, 1]}]' --stage graph
echo "== placed"
notes tests/jobs/attention.yaml strategy.spmd_partitioning=false \
    'partition={self_attention: {assign: 1}, weights: [{match: "logits/*", assign: 0}]}' --stage graph
echo "== one logical device"
notes tests/jobs/attention.yaml strategy.device_assignment= --stage gradient
