#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: data model pass train
# Packed documents: with reset_attention_mask and reset_position_ids, each document gives the same results as it does alone, in every layer of attention;
# without these keys it does not. When text is generated, a new context begins after the end of a document.
python=$(scripts/python-tools numpy) || exit 77
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
cat >check.py <<'END'
import json, subprocess, sys
import numpy as np
dtrain, over = sys.argv[1], sys.argv[2:]
if not over:
    r = np.random.default_rng(35)
    with open("d.jsonl", "w") as f:
        for _ in range(60):
            f.write(json.dumps({"text": "".join(r.choice(list("abcdef"), r.integers(1, 9)))}) + "\n")
subprocess.run([dtrain, "fit", "job.yaml", "-q", *over], check=True)
numbers = {c: i for i, c in enumerate("#abcdef")}
text = "".join(json.loads(line)["text"] + "#" for line in open("d.jsonl"))
packed = np.array([numbers[c] for c in text], np.int32)[:len(text) // 16 * 16].reshape(-1, 16)
alone, stretch = [], []
for i, row in enumerate(packed):
    start = 0
    for end in [k + 1 for k in range(16) if row[k] == 0 or k == 15]:
        alone.append(np.pad(row[start:end], (0, 16 - end + start)))
        stretch.append((i, start, end))
        start = end
def predict(name, rows):
    np.save(name + ".npy", np.array(rows, np.int32))
    subprocess.run([dtrain, "predict", "job.yaml", "--input", name + ".npy", "--output", name + ".out.npy", "-q", *over], check=True)
    return np.load(name + ".out.npy")
a, b = predict("packed", packed), predict("alone", alone)
print("equal" if max(abs(a[i, s:e] - b[k, :e - s]).max() for k, (i, s, e) in enumerate(stretch)) < 1e-5 else "different")
END
job() {
    cat >job.yaml <<END
version: 1
dataset: {format: text, train: d.jsonl, end_of_text: "#", reset_attention_mask: true, reset_position_ids: true, element: {tokens: {shape: [16], dtype: int32}}, global_batch_size: 4}
model:
  type: functional
  layers:
    - Input: {name: tokens, shape: [16], dtype: int32}
    - TokenAndPositionEmbedding: {name: embed, vocabulary_size: 7, sequence_length: 16, embedding_dim: 8, embeddings_initializer: {RandomUniform: {minval: -1, maxval: 1}}}
    - $1
    - Dense: {name: logits, units: 7}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 2}
output: {dir: $2}
END
}
job 'TransformerDecoder: {intermediate_dim: 16, num_heads: 2, normalize_first: true}' a
"$python" check.py "$DTRAIN"
"$python" check.py "$DTRAIN" dataset.reset_attention_mask=false output.dir=b
"$python" check.py "$DTRAIN" dataset.reset_position_ids=false output.dir=c
n=0
for layer in 'LlamaTransformerDecoder: {intermediate_dim: 16, num_query_heads: 2, num_key_value_heads: 1}' \
    'GroupQueryAttention: {head_dim: 4, num_query_heads: 2, num_key_value_heads: 1, use_causal_mask: true}' \
    'MultiHeadAttention: {num_heads: 2, key_dim: 4, use_causal_mask: true}' \
    'MultiHeadLatentAttention: {num_heads: 2, kv_lora_rank: 4, qk_nope_head_dim: 4, qk_rope_head_dim: 2, v_head_dim: 4}' \
    'T5MultiHeadAttention: {num_heads: 2, key_value_dim: 4, is_decoder: true}' \
    'Attention: {inputs: [embed, embed], use_causal_mask: true}' \
    'AdditiveAttention: {inputs: [embed, embed], use_causal_mask: true}'; do
    n=$((n + 1))
    job "$layer" "layer$n"
    "$python" check.py "$DTRAIN" fit.epochs=1
done
job 'TransformerDecoder: {intermediate_dim: 16, num_heads: 2, normalize_first: true}' a
"$DTRAIN" generate job.yaml --prompt 'c' --max-tokens 1 --temperature 0 >alone
"$DTRAIN" generate job.yaml --prompt 'ab#c' --max-tokens 1 --temperature 0 | sed 's/^ab#//' | cmp - alone && echo 'generate: equal'
# of a document that is longer than the context, the last 16 tokens remain
"$DTRAIN" generate job.yaml --prompt 'abcdefabcdefabcd' --max-tokens 3 --temperature 0 | tail -c 4 >alone
"$DTRAIN" generate job.yaml --prompt 'ab#ffffffffffffffffffffffffffffffffffffffffabcdefabcdefabcd' --max-tokens 3 --temperature 0 | tail -c 4 | cmp - alone && echo 'long: equal'
show validate job.yaml dataset.end_of_text=null
show validate job.yaml dataset.end_of_text=ab --data
job 'GRU: {units: 8, return_sequences: true}' a
show validate job.yaml
