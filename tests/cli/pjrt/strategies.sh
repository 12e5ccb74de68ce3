#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: backend pass op
# Every strategy on XLA: the numbers of cpu, within 1e-4. Workers in separate processes, each with devices of its own: those of one process; a run goes on with other
# workers and another back end.
. tests/cli/setup.sh
. tests/cli/jobs.sh
# shellcheck source=/dev/null
. tests/cli/pjrt.inc
needs_xla

# write NAME ELEMENT LAYERS MORE: 4 steps an epoch, a last batch of one row.
write() {
    cat >"$TEST_DIR/$1.yaml" <<END
version: 1
strategy: {type: multi_worker_mirrored, timeout: 30}
dataset: {format: synthetic, examples: 61, element: {$2, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 16}
model: {type: sequential, layers: [$3, Dense: {units: 3}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 2$4}
$5
END
}
image='image: {shape: [6, 6, 1]}' in='Input: {name: image, shape: [6, 6, 1]}'
words='words: {shape: [5], dtype: int32, num_classes: 9}' text='Input: {name: words, shape: [5], dtype: int32}'
write mlp "$image" "$in, Flatten, Dense: {units: 16, activation: relu}"
write dropout "$image" "$in, Flatten, Dense: {units: 16}, Dropout: {rate: 0.4}" ', gradient_accumulation_steps: 2'
write bn "$image" "$in, Conv2D: {filters: 4, kernel_size: 3, use_bias: false}, BatchNormalization: {synchronized: true}, Dropout: {rate: 0.3}, Flatten"
write lstm "$words" "$text, Embedding: {input_dim: 9, output_dim: 4}, LSTM: {units: 5}"
write transformer "$words" "$text, TokenAndPositionEmbedding: {vocabulary_size: 9, sequence_length: 5, embedding_dim: 8}, TransformerEncoder: {intermediate_dim: 8, num_heads: 2, dropout: 0.1}, Flatten"
write slots "$image" "$in, Flatten, Dense: {units: 16}" '' 'partition: {over_replicas: optimizer}'
# run NAME JOB WORDS...: in TEST_DIR/NAME.
run() {
    name=$1 of=$TEST_DIR/$2.yaml
    shift 2
    timeout -k 3 100 "$DTRAIN" fit "$of" --quiet "output.dir=$TEST_DIR/$name" "$@" >"$TEST_DIR/out" 2>"$TEST_DIR/err" || { echo "$name: exit $?" && cat "$TEST_DIR/err"; }
}

echo "== strategies"
while read -r row strategy; do
    for on in cpu pjrt; do
        run "$row-$on" bn --backend $on "strategy={$strategy}"
    done
    same_history "$TEST_DIR/$row-cpu" "$TEST_DIR/$row-pjrt" 1e-4
done <<'END'
default type: default
one_device type: one_device, device: "CPU:0"
mirrored type: mirrored, replicas: 4
uneven type: mirrored, replicas: 3
tpu type: tpu, cluster_resolver: {tpu: "sim:v2-8"}
multi_worker type: multi_worker_mirrored, workers: 2, replicas: 2
servers type: parameter_server, workers: 3, parameter_servers: 2, max_staleness: 2, schedule: virtual
END

echo "== processes"
for job in mlp dropout bn lstm transformer slots; do
    run $job-cpu $job --backend cpu
    for n in 2 3; do
        run $job-$n $job --backend pjrt --workers $n
        same_history "$TEST_DIR/$job-cpu" "$TEST_DIR/$job-$n" 1e-4
    done
done
run bf16-1 mlp compile.precision=mixed_bfloat16 --backend pjrt
run bf16-2 mlp compile.precision=mixed_bfloat16 --backend pjrt --workers 2
same_history "$TEST_DIR/bf16-1" "$TEST_DIR/bf16-2" 2e-2

echo "== four replicas of two workers"
run replicas-cpu bn --backend cpu strategy.workers=2 strategy.replicas=2 fit.epochs=1
run replicas-2 bn --backend pjrt --workers 2 strategy.replicas=2 fit.epochs=1
same_history "$TEST_DIR/replicas-cpu" "$TEST_DIR/replicas-2" 1e-4

echo "== fewer rows than workers"
run few-cpu mlp --backend cpu dataset.global_batch_size=2
run few-3 mlp --backend pjrt --workers 3 dataset.global_batch_size=2
same_history "$TEST_DIR/few-cpu" "$TEST_DIR/few-3" 1e-4

echo "== resumed"
run elastic dropout --backend pjrt --workers 3 --steps 1
run elastic dropout --backend cpu --workers 2 --steps 2
run elastic dropout --backend pjrt --workers 2 --steps 3
run elastic dropout --backend pjrt
same_history "$TEST_DIR/dropout-cpu" "$TEST_DIR/elastic" 1e-4

echo "== devices by name"
run chosen-cpu bn --backend cpu strategy.workers=2 strategy.replicas=2 fit.epochs=1
run chosen-2 bn --backend pjrt --workers 2 'strategy.devices=["GPU:2","GPU:1"]' fit.epochs=1
same_history "$TEST_DIR/chosen-cpu" "$TEST_DIR/chosen-2" 1e-4

echo "== refused"
run slots slots --backend pjrt --workers 2 partition.over_replicas=weights | grep -o 'exit [0-9]*\|partition: .*'

echo "== evaluated and predicted"
for verb in evaluate predict; do
    for how in '--backend cpu' '--backend pjrt --workers 2'; do
        # shellcheck disable=SC2086
        timeout -k 3 100 "$DTRAIN" $verb "$TEST_DIR/bn.yaml" "output.dir=$TEST_DIR/bn-cpu" $how >"$TEST_DIR/$verb" 2>"$TEST_DIR/err" || { echo "$verb $how: exit $?" && cat "$TEST_DIR/err"; }
        sed 1q "$TEST_DIR/$verb"
    done
done
