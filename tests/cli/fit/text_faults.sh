#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: conf file data base
# Every reader of texts that a user names, with every fault of such texts: its message, or that it reads the same as without the fault.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
mkdir plain bad

# ---- one file for each reader ----
cat >plain/csv <<'END'
a,b,y
1,2,one
2,3,two
3,4,one
4,5,two
END
printf 'red\ngreen\nblue\nviolet\n' >plain/words
printf 'a red fox\na blue dog\na green cat\n' >plain/text
printf '{"x": [1, 2]}\n{"x": [3, 4]}\n' >plain/rows
cat >plain/keras <<'END'
{"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [
{"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 2], "dtype": "float32", "name": "x"}, "registered_name": null},
{"module": "keras.layers", "class_name": "Dense", "config": {"name": "o", "units": 2, "activation": "softmax", "use_bias": true}, "registered_name": null}]}, "registered_name": null}
END
cat >plain/job <<'END'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: csv, train: plain/csv, element: {x: {columns: [a, b]}, y: {column: y, vocabulary: [one, two]}}, global_batch_size: 4}
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 2, name: o, activation: softmax}]}
compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}
fit: {epochs: 1}
output: {dir: run}
END
cp plain/job job.yaml
cp plain/job plain/base
sed 's/^model: .*/model: {keras_config: bad\/model.json}/' job.yaml >keras.yaml
printf 'review,y\na red fox,0\na blue dog,1\nblue cat,1\n' >reviews.csv
cat >words.yaml <<'END'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: csv
  train: reviews.csv
  element: {review: {column: review, dtype: string}, y: {columns: [y]}}
  map: {review: [text_vectorization: {vocabulary: plain/words, output_sequence_length: 4}]}
  global_batch_size: 4
model: {layers: [Input: {name: review, shape: [4], dtype: int32}, Embedding: {input_dim: 9, output_dim: 2}, Flatten, Dense: {units: 1}]}
compile: {optimizer: sgd, loss: mse}
fit: {epochs: 1}
output: {dir: run_words}
END
# the names of classes, in a file: their order gives the numbers
printf 'one\ntwo\nthree\n' >plain/names
sed 's/y: {column: y, vocabulary: .one, two.}/y: {column: y, dtype: string}/
    s/, global_batch_size: 4/, map: {y: [string_lookup: {vocabulary: plain\/names}]}&/; s/units: 2/units: 4/; s/dir: run/dir: run_names/' job.yaml >names.yaml
cat >text.yaml <<'END'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: text, train: plain/text, tokenizer: {type: char}, element: {tokens: {shape: [4], dtype: int32}}, global_batch_size: 2}
model:
  layers:
    - Input: {name: tokens, shape: [4], dtype: int32}
    - TokenAndPositionEmbedding: {name: embed, vocabulary_size: 24, sequence_length: 4, embedding_dim: 4}
    - Tied: {name: logits, to: embed/token_embedding}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {steps: 2}
output: {dir: run_text}
END
"$DTRAIN" fit job.yaml -q || exit 1

# ---- readers: FILE, what it makes on standard output ----
read_job() { cp "$1" bad/job.yaml && "$DTRAIN" config show bad/job.yaml; }
read_base() { cp "$1" bad/base.yaml && echo 'extends: base.yaml' >bad/derived.yaml && "$DTRAIN" config show bad/derived.yaml; }
trained() { "$DTRAIN" fit "$@" --fresh --json | grep -o '"weights_sha256":"[0-9a-f]*"' | tail -n 1; }
read_csv() { trained job.yaml "dataset.train=$1" output.dir=run_csv; }
read_words() { trained words.yaml "dataset.map.review.0.text_vectorization.vocabulary=$1"; }
read_names() { trained names.yaml "dataset.map.y.0.string_lookup.vocabulary=$1"; }
read_text() { trained text.yaml "dataset.train=$1"; }
read_rows() { cp "$1" bad/rows.jsonl && "$DTRAIN" predict job.yaml --input bad/rows.jsonl; }
read_keras() { cp "$1" bad/model.json && trained keras.yaml output.dir=run_keras; }

# ---- faults: FILE, with the fault on standard output ----
bom() { printf '\357\273\277' && cat "$1"; }
crlf() { sed 's/$/\r/' "$1"; }
bom_crlf() { printf '\357\273\277' && crlf "$1"; }
utf16le() { printf '\377\376' && iconv -f UTF-8 -t UTF-16LE "$1"; }
utf16be() { printf '\376\377' && iconv -f UTF-8 -t UTF-16BE "$1"; }
utf16le_bare() { iconv -f UTF-8 -t UTF-16LE "$1"; }
utf16be_bare() { iconv -f UTF-8 -t UTF-16BE "$1"; }
latin1() { sed '2s/.$/\xe9/' "$1"; }
nul() { sed '2s/.$/\x00/' "$1"; }
empty() { :; }
only_bom() { printf '\357\273\277'; }
blank_lines() { printf '\n' && cat "$1" && printf '\n\n'; }
no_last_end() { head -c "$(($(wc -c <"$1") - 1))" "$1"; }
long_line() { cat "$1" && head -c 2000000 /dev/zero | tr '\0' x; }

for reader in job base csv words names text rows keras; do
    "read_$reader" plain/$reader >right 2>err || { echo "$reader: exit $?" && cat err; }
    [ -s right ] || echo "$reader: nothing was read"
    for fault in bom crlf bom_crlf utf16le utf16be utf16le_bare utf16be_bare latin1 nul empty only_bom blank_lines no_last_end long_line; do
        "$fault" plain/$reader >bad/file
        "read_$reader" bad/file >out 2>err
        if [ ! -s err ]; then
            cmp -s out right && words=same || words='other'
        else
            # "job.yaml:2:3: error: WORDS" for jobs, "error: FILE:2:3: WORDS" for other files: file and place are kept
            words=$(sed -n 's/^\(bad[^ ]*\) error:/\1/p; t; s/.*error: //p' err | head -n 1 | cut -c 1-110)
        fi
        printf '%-6s %-13s %s\n' $reader $fault "$words"
    done
done
