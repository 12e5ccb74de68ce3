#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: net strategy
# PyTorch's torchrun itself: two workers, one of which is killed after the first checkpoint. The agent
# starts both again, and the weights are those of one process that was never stopped.
. tests/cli/setup.sh
python=$(scripts/python-tools torch) || exit 77
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
strategy: {type: multi_worker_mirrored}
reproducible: {shards: 4}
dataset: {format: synthetic, examples: 2048, element: {x: {shape: [16]}, y: {num_classes: 4}}, global_batch_size: 64}
model: {layers: [Input: {name: x, shape: [16]}, Dense: {units: 256, activation: relu}, Dense: {units: 4, name: logits}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 40}
checkpoint: {save_freq: 100}
output: {dir: $TEST_DIR/run}
END
cat >"$TEST_DIR/worker" <<'END'
#!/bin/sh
if [ "$RANK$TORCHELASTIC_RESTART_COUNT" != 10 ]; then exec "$DTRAIN" fit "$JOB" -q --threads 1; fi
"$DTRAIN" fit "$JOB" -q --threads 1 &
until ls "$RUN"/ckpt 2>/dev/null | grep -q "^step-[0-9]*$"; do sleep 0.01; done
kill -9 $! && echo killed >"$RUN/../killed"
wait $!
END
chmod +x "$TEST_DIR/worker"
export JOB="$job" RUN="$TEST_DIR/run" DTRAIN OMP_NUM_THREADS=1
timeout -k 3 200 "$python" -m torch.distributed.run --no-python --nnodes 1 --nproc-per-node 2 --max-restarts 2 \
    --rdzv-backend c10d --rdzv-endpoint localhost:0 "$TEST_DIR/worker" >"$TEST_DIR/out" 2>&1 ||
    { echo "exit $?" && cat "$TEST_DIR/out"; }
cat "$TEST_DIR/killed"
of() { sed -n 's/.*"event": "end".*"weights_sha256": "\([0-9a-f]*\)".*/\1/p' "$1/record.jsonl" | tail -n 1; }
grep -c '"event": "start"' "$RUN/record.jsonl"
"$DTRAIN" fit "$job" -q strategy.type=mirrored "output.dir=$TEST_DIR/one" --threads 1
[ -n "$(of "$RUN")" ] && [ "$(of "$RUN")" = "$(of "$TEST_DIR/one")" ] && echo "the weights of one process"
