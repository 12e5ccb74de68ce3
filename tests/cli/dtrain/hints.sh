#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Words of other tools, abbreviations and the first word of a command lead to what was meant.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
for word in config ckpt data fit callbacks metrics; do
    echo "$word: $("$DTRAIN" help "$word" | head -n 1)"
done
for word in f1 roc_auc; do "$DTRAIN" help "$word" 2>&1 | grep -o "did you mean.*"; done
for word in config ckpt serve chat sweep tune; do "$DTRAIN" "$word" 2>&1 | head -n 1; done
for metric in f1 roc_auc prec top_k; do
    "$DTRAIN" validate "$tiny" --no-data "compile.metrics=[$metric]" 2>&1 | grep -o "did you mean.*"
done

echo "# a run in place of a checkpoint"
cd "$TEST_DIR" || exit
"$DTRAIN" fit "$tiny" -q fit.epochs=1 output.dir=a
"$DTRAIN" fit "$tiny" fit.epochs=2 output.dir=b --resume a | grep -o '^resumed .*'
mkdir -p none/ckpt
"$DTRAIN" fit "$tiny" output.dir=c --resume none 2>&1 || echo "exit $?"
mkdir other
"$DTRAIN" fit "$tiny" output.dir=c --resume other 2>&1 || echo "exit $?"

echo "# weights of other programs"
# le BYTES NUMBER: little-endian. archive FILE MEMBER...: a zip archive whose members are empty.
# shellcheck disable=SC2059 # the format is the bytes
le() { printf "$(printf '\\%03o' $(($2 & 255)) $(($2 >> 8 & 255)) $(($2 >> 16 & 255)) $(($2 >> 24 & 255)) | head -c $((4 * $1)))"; }
archive() {
    file=$1 members=$(($# - 1)) && shift
    : >"$file" && : >directory
    for name; do
        at=$(wc -c <"$file")
        { printf 'PK\001\002\024\000\024\000' && le 4 0 && le 4 33 && le 4 0 && le 4 0 && le 4 0 && le 4 ${#name} && le 4 0 && le 4 0 && le 2 0 && le 4 "$at" && printf %s "$name"; } >>directory
        { printf 'PK\003\004\024\000' && le 4 0 && le 4 33 && le 4 0 && le 4 0 && le 4 0 && le 4 ${#name} && printf %s "$name"; } >>"$file"
    done
    at=$(wc -c <"$file")
    cat directory >>"$file"
    { printf 'PK\005\006' && le 4 0 && le 2 $members && le 2 $members && le 4 "$(wc -c <directory)" && le 4 "$at" && le 2 0; } >>"$file"
}
archive m.keras metadata.json config.json model.weights.h5
archive m.pt m/data.pkl m/version m/data/0
archive m.npz readme.txt
printf '\211HDF\r\n\032\n0000000000000000' >m.h5
printf '\010\007\022\007pytorch\032\0052.4.0' >m.onnx
printf '\200\002\212\012l\374\234F\371 j\250P\031.' >m.pth
for file in m.keras m.pt m.npz m.h5 m.onnx m.pth none.safetensors; do
    "$DTRAIN" evaluate "$tiny" --ckpt $file 2>&1 && echo "exit 0" || echo "exit $?"
    "$DTRAIN" validate "$tiny" model.init_from=$file 2>&1 | head -n 1
done

echo "# patterns of pictures"
cat >pictures.yaml <<'END'
version: 1
dataset: {format: synthetic, examples: 8, element: {image: {shape: [4, 4, 1]}, label: {num_classes: 2}}, global_batch_size: 4}
model: {layers: [Input: {name: image, shape: [4, 4, 1]}, Flatten, Dense: {units: 2}]}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: pictures}
END
mkdir unseen
echo iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGiAAAAFElEQVR4nGNkYGRkZGRhZGRkgRMAAVEAI9SIzDgAAAAASUVORK5CYII= | base64 -d >unseen/a.png
cp unseen/a.png unseen/b.png
echo notes >unseen/notes.txt
"$DTRAIN" fit pictures.yaml -q
for input in 'unseen/*.png' 'unseen/[b-z].png' unseen unseen/a.png 'unseen/*.jpg' 'unseen/*' 'missing/*.png' unseen/c.png; do
    echo "$input: $("$DTRAIN" predict pictures.yaml --input "$input" --top 1 2>&1 | sed 's/[0-9]*\.[0-9][0-9]*/N/g')"
done

echo "# arguments of string_lookup"
printf 'kind,y\nred,cat\nblue,dog\nred,cat\nblue,dog\n' >t.csv
cat >lookup.yaml <<'END'
version: 1
dataset: {format: csv, train: t.csv, element: {x: {column: kind, dtype: string}, y: {column: y, dtype: string}}, map: {x: [string_lookup: {output_mode: one_hot}], y: [string_lookup: {num_oov_indices: 0}]}, global_batch_size: 4}
model: {layers: [Input: {name: x, shape: [3]}, Dense: {units: 2}]}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: lookup}
END
for arguments in '{output_mode: one_hot}' '{num_oov_indices: 0, output_mode: one_hot}' '{num_oov_indices: 0}, one_hot: 2' '{num_oov_indices: 2}' \
    '{mask_token: ""}' '{oov_token: "?"}' '{invert: true}' '{encoding: latin-1}' '{pad_to_max_tokens: true}' '{sparse: true}' '{output_mode: tf_idf}' \
    '{idf_weights: [1]}' '{vocab: [red]}' '{vocabulary: [red, red]}' '{vocabulary: []}' '{vocabulary: red}' '{max_tokens: 1}' '{max_tokens: 2, output_mode: one_hot}'; do
    said=$("$DTRAIN" validate lookup.yaml "dataset.map.x=[string_lookup: $arguments]" model.layers.0.Input.shape=[2] 2>&1 | grep -v '^ *1 |\|^1 error\|^[0-9]* errors' | head -n 3)
    echo "$arguments: $said"
done
for units in 1 2 3; do "$DTRAIN" validate lookup.yaml model.layers.1.Dense.units=$units 2>&1 | head -n 1; done

echo "# as other programs write it"
awk 'BEGIN { print "a,b,k,n"; for (i = 0; i < 28; i++) print i % 5 / 5 "," i % 3 / 3 "," (i % 2 ? "u" : "v") "," 1 + i % 7 }' >d.csv
cat >j.yaml <<'END'
version: 1
dataset: {format: csv, train: d.csv, element: {x: {columns: [a, b]}, y: {column: k, vocabulary: [u, v]}}, global_batch_size: 4}
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 2}]}
compile: {optimizer: {SGD: {learning_rate: 0.1}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
# hint WORDS...: the first error, and what follows its carets.
hint() { "$DTRAIN" validate j.yaml "$@" 2>&1 | sed -n '1,3{s/^.*error: //p; s/^ *|[ ^]*\([^ ^].*\)/    \1/p}'; }
for option in --fit.epochs=2 --trainer.max_epochs=2 --compile.loss=mse; do "$DTRAIN" fit j.yaml $option 2>&1 | head -n 1; done
hint fit.epochs=2.0
hint fit.epochs=2.5
hint 'strategy={type: mirrored, devices: 2}'
for optimizer in '{class_path: torch.optim.Adam, init_args: {lr: 0.01}}' '{name: adam, lr: 0.01}' '{type: Adam, learning_rate: 0.01}' \
    '{_target_: torch.optim.SGD, lr: 1}' '{class_name: Adam, config: {}}' '{Adam: {}, learning_rate: 0.1}'; do
    hint "compile.optimizer=$optimizer"
done
hint 'fit.callbacks={EarlyStopping: {patience: 3}}'
hint 'compile.metrics={accuracy: {}, AUC: {}}'
hint fit.class_weight=auto
hint model=mlp
for loss in logistic binary:logistic softmax_cross_entropy multi:softmax reg:squarederror; do hint "compile.loss=$loss"; done
for key in objective=x eval_metric=auc num_round=10 eta=0.1 max_depth=3 'input_features=[a]' 'output_features=[k]'; do hint "$key"; done
sed '1s/,/, /g' d.csv >padded.csv
hint dataset.train=padded.csv
printf '0 1:514 2:2\n1 1:5 3:9\n' >x.libsvm
hint dataset.train=x.libsvm
hint 'dataset.element.y={column: n, dtype: int32}' model.layers.1.Dense.units=7
hint 'dataset.element.y={column: n, dtype: int32}' model.layers.1.Dense.units=1
hint 'dataset.element.y={column: n, dtype: int32}' model.layers.1.Dense.units=5
for arguments in 'units: 2, input_shape: [2]' 'units: 2, init: uniform' 'units: 2, W_regularizer: l2' 'output_dim: 2'; do hint "model.layers.1={Dense: {$arguments}}"; done
hint 'model.layers.1={Dense: 2, activation: softmax}'
hint model.layers.0.Input.shape=2
hint 'compile.optimizer={Adam: {learning_rate: 0.01, decay: 1e-6}}'
for key in nb_epoch=2 workers=4 use_multiprocessing=true batch_size=4; do hint fit.$key; done
# shellcheck disable=SC2016 # the job holds ${DATA}
sed 's/train: d.csv/train: ${DATA}\/d.csv/' j.yaml >variable.yaml
sed 's/^fit: .*/fit:\n  epochs:1/' j.yaml >space.yaml
for file in variable space; do "$DTRAIN" validate $file.yaml 2>&1 | sed -n 's/^.*error: //p; s/^ *|[ ^]*\([^ ^].*\)/    \1/p'; done
hint 'fit={epochs: 1,000}'
hint 'compile.optimizer={SGD: {learning_rate: 0,001}}'
