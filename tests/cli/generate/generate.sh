#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# generate: the text is the same for a seed, with and without the cache, and beyond the trained length; temperature 0 takes the likeliest
# token that predict finds. What is drawn is hidden where it depends on the last bits.
. tests/cli/setup.sh
for _ in 1 2 3 4 5 6 7 8; do echo 'to be or not to be, that is it'; done >"$TEST_DIR/t.txt"
cat >"$TEST_DIR/gpt.yaml" <<END
version: 1
seed: 3
strategy: {type: mirrored, replicas: 2}
dataset: {format: text, train: t.txt, tokenizer: {type: char}, element: {tokens: {shape: [16], dtype: int32}}, global_batch_size: 4}
model:
  layers:
    - Input: {name: tokens, shape: [16], dtype: int32}
    - TokenAndPositionEmbedding: {name: embed, vocabulary_size: 13, sequence_length: 16, embedding_dim: 16}
    - Repeat:
        for: {i: [0, 1]}
        layers:
          - TransformerDecoder: {name: "decoder_{i}", intermediate_dim: 32, num_heads: 2, normalize_first: true}
    - Tied: {name: logits, to: embed/token_embedding}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {steps: 200}
output: {dir: $TEST_DIR/run}
END
generate() {
    "$DTRAIN" generate "$TEST_DIR/gpt.yaml" "$@" || echo "exit $?"
}
show generate "$TEST_DIR/gpt.yaml" --prompt 'to be'
"$DTRAIN" fit "$TEST_DIR/gpt.yaml" -q

echo "== the likeliest tokens, which the model has learned by heart"
generate --prompt 'to be or' --temperature 0 --max-tokens 8
generate --prompt 'to be or' --temperature 0 --max-tokens 8 --no-cache
generate --prompt 'to be or' --temperature 0 --max-tokens 8 --no-display-prompt
generate --prompt 'to be or' --top-k 1 --max-tokens 8
generate --prompt 'to be or' --top-p 0.01 --max-tokens 8
printf 'to be or\r\n' | generate --prompt - --temperature 0 --max-tokens 8
printf 'to be or\n' >"$TEST_DIR/prompt"
generate --prompt-file "$TEST_DIR/prompt" --temperature 0 --max-tokens 8
generate --prompt 'to be or' --temperature 0 --stop 'xyz' --stop 'to'

echo "== a seed"
generate --prompt 'to be' --temperature 3 --seed 7 >"$TEST_DIR/7"
generate --prompt 'to be' --temperature 3 --seed 7 | cmp - "$TEST_DIR/7"
generate --prompt 'to be' --temperature 3 --seed 7 --threads 1 'strategy.replicas=1' | cmp - "$TEST_DIR/7"
generate --prompt 'to be' --temperature 3 --seed 7 --no-cache | cmp - "$TEST_DIR/7"
generate --prompt 'to be' --temperature 3 --seed 8 | cmp -s - "$TEST_DIR/7" && echo 'another seed: the same text'

echo "== JSON"
generate --prompt 'to be or' --temperature 0 --max-tokens 3 --json | sed 's/\(logprob\|_s\)":[-0-9.e]*/\1":N/g'
generate --prompt 'to be or' --temperature 0 --stop 't to' --json | sed -n 's/.*"generated","text":\("[^"]*"\).*"finish_reason":\("[^"]*"\).*/\1 \2/p'

# compare WORDS...: the cached step and the whole context give the same log-probabilities, also in the second context.
compare() {
    generate --prompt 'to be' --temperature 2 --max-tokens 40 --json "$@" >"$TEST_DIR/cached" 2>/dev/null
    generate --prompt 'to be' --temperature 2 --max-tokens 40 --json --no-cache "$@" >"$TEST_DIR/recomputed"
    for how in cached recomputed; do
        sed -n 's/.*"token":\([0-9]*\).*logprob":\([-0-9.e]*\).*/\1 \2/p' "$TEST_DIR/$how" >"$TEST_DIR/$how.numbers"
    done
    paste "$TEST_DIR/cached.numbers" "$TEST_DIR/recomputed.numbers" |
        awk '{ d = $2 - $4; if ($1 != $3 || d > 1e-5 || d < -1e-5) print "differs:", $0 } END { print NR, "tokens" }'
    sed -n 's/.*\("cached":[a-z]*\).*/\1/p' "$TEST_DIR/cached"
}
# block LAYER: the model with other blocks, trained a little.
block() {
    sed "s/TransformerDecoder: .*/$1/; s#/run#/block#" "$TEST_DIR/gpt.yaml" >"$TEST_DIR/block.yaml"
    "$DTRAIN" fit "$TEST_DIR/block.yaml" -q --fresh fit.steps=20
    shift
    (generate() { "$DTRAIN" generate "$TEST_DIR/block.yaml" "$@" || echo "exit $?"; } && compare "$@")
}
echo "== with and without a cache"
compare
block 'LlamaTransformerDecoder: {name: "decoder_{i}", intermediate_dim: 32, num_query_heads: 4, num_key_value_heads: 2}'
block 'LlamaTransformerDecoder: {name: "decoder_{i}", intermediate_dim: 32, num_query_heads: 4, num_key_value_heads: 2, sliding_window: 3}'
block 'MultiHeadAttention: {name: "decoder_{i}", num_heads: 2, key_dim: 8, use_causal_mask: true}'
block 'MultiHeadAttention: {name: "decoder_{i}", num_heads: 2, key_dim: 8}'
block 'LSTM: {name: "decoder_{i}", units: 16, return_sequences: true}'
block 'Conv1D: {name: "decoder_{i}", filters: 16, kernel_size: 3, padding: causal}'
"$DTRAIN" generate "$TEST_DIR/block.yaml" --prompt 'to be or' --max-tokens 1 2>"$TEST_DIR/err" >"$TEST_DIR/out"
cat "$TEST_DIR/err"

# probability LAYER: the probability of the likeliest token of a model that ends with the layer, trained without logits.
probability() {
    sed "s#- Tied: .*#- $1#; s#, loss: .*#, loss: SparseCategoricalCrossentropy}#; s#/run}#/ends}#" "$TEST_DIR/gpt.yaml" >"$TEST_DIR/ends.yaml"
    "$DTRAIN" fit "$TEST_DIR/ends.yaml" -q --fresh
    "$DTRAIN" generate "$TEST_DIR/ends.yaml" --prompt 'to be or not to' --temperature 0 --max-tokens 1 --json 2>"$TEST_DIR/err" |
        sed -n 's/.*"token":\([0-9]*\).*logprob":\([-0-9.e]*\).*/\2/p' | awk '{ print ($1 > -0.5 ? "sure" : $1) }'
}
echo "== probabilities"
probability 'Dense: {units: 13, activation: softmax}'
probability 'TimeDistributed: {layer: {Dense: {units: 13, activation: softmax}}}'

echo "== faults"
show generate "$TEST_DIR/gpt.yaml"
show generate "$TEST_DIR/gpt.yaml" --prompt a --prompt-file b
show generate "$TEST_DIR/gpt.yaml" --prompt 'to BE'
show generate "$TEST_DIR/gpt.yaml" --prompt-file "$TEST_DIR/none"
printf 'to\351' | show generate "$TEST_DIR/gpt.yaml" --prompt -
show generate - --prompt - <"$TEST_DIR/gpt.yaml"
show generate "$TEST_DIR/gpt.yaml" --prompt a --temperature hot
show generate "$TEST_DIR/gpt.yaml" --prompt a --top-p 0
show generate "$TEST_DIR/gpt.yaml" --prompt a --stop ''
show generate "$TEST_DIR/gpt.yaml" --prompt a 'dataset={format: synthetic, examples: 9, element: {tokens: {shape: [16], dtype: int32, num_classes: 13}, targets: {shape: [16], num_classes: 13}}, global_batch_size: 4}'
