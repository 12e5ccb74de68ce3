#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A vocabulary or a tokenizer.json that changes after training is noticed by fit, evaluate and predict; restoring it is enough.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "note,label"; for (i = 0; i < 24; i++) print (i % 2 ? "good" : "bad") " film," i % 2 }' >notes.csv
printf 'good\nbad\nfilm\n' >words.txt
cat >job.yaml <<'END'
version: 1
name: notes
dataset:
  format: csv
  train: notes.csv
  element: {note: {column: note, dtype: string}, label: {column: label, dtype: int32}}
  map: {note: [text_vectorization: {vocabulary: words.txt, output_sequence_length: 2}]}
  global_batch_size: 8
model: {layers: [Input: {name: note, shape: [2], dtype: int32}, Embedding: {input_dim: 8, output_dim: 4}, Flatten, Dense: {units: 1, activation: sigmoid}]}
compile: {optimizer: adam, loss: binary_crossentropy}
fit: {epochs: 2}
output: {dir: run}
END
show fit job.yaml -q
grep -c '"named_files": "{.*words.txt' run/ckpt/*/state.json
printf 'bad\ngood\nfilm\n' >words.txt
show fit job.yaml -q fit.epochs=3
show evaluate job.yaml -q --split train
show predict job.yaml -q --input notes.csv
printf 'good\nbad\nfilm\n' >words.txt
show fit job.yaml -q fit.epochs=3
show fit job.yaml -q fit.epochs=3 'dataset.map.note=[text_vectorization: {vocabulary: [good, bad, film], output_sequence_length: 2}]'

# A text whose characters are the tokens: others of the same number would be printed for them.
printf 'abcabcabcabcabcabcabcabcabcab' >letters.txt
cat >letters.yaml <<'END'
version: 1
name: letters
dataset: {format: text, train: letters.txt, element: {tokens: {shape: [4]}}, global_batch_size: 4}
model: {layers: [Input: {name: tokens, shape: [4], dtype: int32}, Embedding: {input_dim: 3, output_dim: 4}, Dense: {units: 3}]}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: letters}
END
"$DTRAIN" fit letters.yaml -q || echo "exit $?"
tr abc bca <letters.txt >turned && mv turned letters.txt
"$DTRAIN" generate letters.yaml --prompt a --max-tokens 2 >/dev/null || echo "exit $?"
tr abc bxd <letters.txt >other && mv other letters.txt
show generate letters.yaml --prompt b --max-tokens 2
show fit letters.yaml -q fit.epochs=2
# A language model's tokenizer.json. Spaces in it change no token, but its bytes.
cat >tokenizer.json <<'END'
{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
 "post_processor": null, "decoder": null, "model": {"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"a": 0, "b": 1}}}
END
awk 'BEGIN { for (i = 0; i < 80; i++) printf i % 3 ? "a " : "b " }' >text.txt
cat >text.yaml <<'END'
version: 1
name: text
dataset: {format: text, train: text.txt, tokenizer: {path: tokenizer.json}, element: {tokens: {shape: [4]}}, global_batch_size: 4}
model: {layers: [Input: {name: tokens, shape: [4], dtype: int32}, Embedding: {input_dim: 2, output_dim: 4}, Dense: {units: 2}]}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: text}
END
if ! "$DTRAIN" data inspect text.yaml >said 2>&1; then
    grep -q pcre2 said && exit 0
    cat said
fi
"$DTRAIN" fit text.yaml -q || echo "exit $?"
echo >>tokenizer.json
"$DTRAIN" fit text.yaml -q fit.epochs=2 2>&1 | grep -c 'tokenizer.json is not the file'
echo '== a path with a variable: checkpoints have its name, and files of other values are compared'
sed "s|vocabulary: words.txt|vocabulary: '\${WORDS}/words.txt'|; s|dir: run|dir: variable|" job.yaml >variable.yaml
mkdir one two
cp words.txt one
echo more | cat words.txt - >two/words.txt
WORDS=one "$DTRAIN" fit variable.yaml -q
grep -l 'one/words.txt' variable/ckpt/*/state.json
WORDS=two "$DTRAIN" evaluate variable.yaml -q --split train 2>&1 | head -n 1
