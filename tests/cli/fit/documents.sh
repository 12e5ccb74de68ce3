#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Documents as JSON lines train a language model as their joined text does: the same weights. What a row lacks is named with its line.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
printf '{"text": "to be or not", "id": [1, {"text": 2}]}\n{"id": 2, "text": "that is it\\nsay \\u00fc"}\n{"text": ""}\n{"text": "be it so"}\n' >docs.jsonl
printf 'to be or not|that is it\nsay \303\274||be it so|' >joined.txt
gzip -k docs.jsonl
cp docs.jsonl DOCS.JSONL
cat >gpt.yaml <<'END'
version: 1
name: gpt
dataset: {format: text, train: docs.jsonl, end_of_text: "|", element: {tokens: {shape: [4], dtype: int32}}, global_batch_size: 4}
model: {layers: [Input: {name: tokens, shape: [4], dtype: int32}, Embedding: {input_dim: 15, output_dim: 8}, Dense: {units: 15}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 3}
output: {dir: run}
END
trained() {
    "$DTRAIN" fit gpt.yaml --fresh "$@" | sed -n 's/.*weights sha //p'
}
trained >first
[ -s first ] || echo 'nothing was trained'
for more in dataset.train=docs.jsonl.gz dataset.train=DOCS.JSONL dataset.train=joined.txt; do trained "$more" | cmp - first && echo same; done
trained 'dataset.end_of_text=" "' | cmp -s - first || echo other
sed 's/"text": "/"body": "/' docs.jsonl >body.jsonl
trained dataset.train=body.jsonl dataset.text_key=body | cmp - first && echo same

# Several files, with the end of text behind the last document of each.
head -n 2 docs.jsonl >part-1.jsonl
tail -n 2 docs.jsonl >part-2.jsonl
trained 'dataset.train=part-*.jsonl' | cmp - first && echo same

refused() {
    cat >bad.jsonl
    show fit gpt.yaml -q --fresh dataset.train=bad.jsonl | grep -e error -e exit
}
printf '{"text": "to be"}\n{"id": 1}\n' | refused
printf '{"text": "to be"}\n\n{"id": 1, "text": ["to"]}\n' | refused
printf '{"text": "to be"}\n{"text": "to" 2}\n' | refused
printf '{"text": "to\\u0000be"}\n' | refused
printf '"to be"\n' | refused
printf '{"text": "to be\377"}\n' | refused
printf '' | refused

# The end of text as a token of its own, by a tokenizer.json.
cat >tokenizer.json <<'END'
{"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
 "added_tokens": [{"id": 2, "content": "<|endoftext|>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
 "model": {"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"a": 0, "b": 1, "<|endoftext|>": 2}}}
END
printf '{"text": "a b b"}\n{"text": "b"}\n{"text": "a a"}\n' >docs.jsonl
"$DTRAIN" data convert gpt.yaml -q -o tokens.csv dataset.end_of_text='<|endoftext|>' dataset.tokenizer='{path: tokenizer.json}' 2>said || grep -q pcre2 said || cat said
[ ! -s tokens.csv ] || sed 1d tokens.csv | cut -d, -f 1-4
