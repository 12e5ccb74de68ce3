#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# GenerateText: a text is a result, so it goes to standard output, with indented lines; one JSON line an event; nothing with -q. What is
# drawn is hidden here: letters of the training text.
. tests/cli/setup.sh
for _ in 1 2 3 4 5 6 7 8; do echo 'to be or not to be, that is it'; done >"$TEST_DIR/t.txt"
cat >"$TEST_DIR/gpt.yaml" <<END
version: 1
strategy: {type: mirrored, replicas: 2}
dataset: {format: text, train: t.txt, tokenizer: {type: char}, element: {tokens: {shape: [8], dtype: int32}}, global_batch_size: 4}
model:
  layers:
    - Input: {name: tokens, shape: [8], dtype: int32}
    - TokenAndPositionEmbedding: {name: embed, vocabulary_size: 13, sequence_length: 8, embedding_dim: 8}
    - Repeat:
        for: {i: [0, 1]}
        layers:
          - TransformerDecoder: {name: "decoder_{i}", intermediate_dim: 16, num_heads: 2, normalize_first: true}
    - Tied: {name: logits, to: embed/token_embedding}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy, Perplexity]}
fit: {steps: 6, callbacks: [GenerateText: {every: 3, prompt: "be\nor", max_tokens: 10}, TerminateOnNaN: {}]}
output: {dir: $TEST_DIR/run}
END
"$DTRAIN" fit "$TEST_DIR/gpt.yaml" 2>"$TEST_DIR/err" >"$TEST_DIR/out" || echo "exit $?"
grep -c '^text     after step' "$TEST_DIR/out"
grep -A 1 '^text     after step 3' "$TEST_DIR/out"
grep -c '^         or' "$TEST_DIR/out"
cat "$TEST_DIR/err"
"$DTRAIN" fit "$TEST_DIR/gpt.yaml" --fresh --json >"$TEST_DIR/json" || echo "exit $?"
grep '"event":"text"' "$TEST_DIR/json" | sed 's/u000aor.*/u000aor.../'
grep -c '"perplexity":' "$TEST_DIR/json"
"$DTRAIN" fit "$TEST_DIR/gpt.yaml" --fresh -q
show validate "$TEST_DIR/gpt.yaml" 'fit.callbacks.0.GenerateText.every=0'
show validate "$TEST_DIR/gpt.yaml" 'dataset={format: synthetic, examples: 9, element: {tokens: {shape: [8], dtype: int32, num_classes: 13}, targets: {shape: [8], num_classes: 13}}, global_batch_size: 4}'
show fit "$TEST_DIR/gpt.yaml" --fresh 'fit.callbacks.0.GenerateText.prompt=xyz'
# Tokens of a tokenizer.json: a prompt may have more tokens than bytes, and must have some.
cat >"$TEST_DIR/t.json" <<'JSON'
{"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": false},
 "model": {"type": "BPE", "vocab": {"_": 0, "t": 1, "o": 2, "b": 3, "e": 4, "r": 5, "n": 6, "h": 7, "a": 8, "i": 9, "s": 10, ",": 11, "or": 12}, "merges": ["o r"]}}
JSON
"$DTRAIN" fit "$TEST_DIR/gpt.yaml" --fresh 'dataset.tokenizer={path: t.json}' fit.callbacks.0.GenerateText.prompt=t fit.callbacks.0.GenerateText.max_tokens=1 2>&1 |
    sed -n '/^text *after step 3/{n;s/^ *t.*/t.../p;}'
sed -i 's/"always"/"never"/' "$TEST_DIR/t.json"
show fit "$TEST_DIR/gpt.yaml" --fresh 'dataset.tokenizer={path: t.json}' fit.callbacks.0.GenerateText.prompt=z
