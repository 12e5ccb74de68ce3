#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Words and options of other programs lead to ours; hints name only what exists; what an unset shell variable leaves is refused.
. tests/cli/setup.sh
write_tiny
cd "$TEST_DIR" || exit 1
for word in train trian run eval test infer lint init show nonsense; do "$DTRAIN" $word 2>&1 | head -n 1; done
# every verb that a hint names is one
"$DTRAIN" man --list | sed -n 's/^dtrain-\(.*\)\.1$/\1/p' | sed 's/^\(data\|ckpt\|config\)-/\1 /' >verbs
for word in train trian run resume eval test score infer generate check lint verify estimate new init schema show diff inspect convert profile compile \
    summary save onnx info list sweeep plot; do
    verb=$("$DTRAIN" $word 2>&1 | sed -n "s/.*did you mean '\(.*\)'?.*/\1/p")
    [ -z "$verb" ] || grep -qx "$verb" verbs || echo "$word: there is no verb '$verb'"
done
hint() { "$DTRAIN" "$@" 2>&1 | head -n 1 | hide; }
hint fit tiny.yaml --epochs 3
hint fit tiny.yaml --epochs=3
hint fit tiny.yaml --epochs
hint fit --epochs tiny.yaml
hint fit tiny.yaml --batch-size 32
hint fit tiny.yaml --lr 1e-3
hint fit tiny.yaml --output runs/x
hint fit tiny.yaml --seed 1
hint fit tiny.yaml --validation-split 0.1
hint fit tiny.yaml --max-to-keep 5
hint fit tiny.yaml --stepz 5
hint predict tiny.yaml --strategy mirrored
hint ckpt ls run --epochs 3
# the keys that hints name are read
for key in $(for option in epochs num-epochs batch-size per-device-batch-size output data val-data val-split device devices num-replicas strategy dtype save-steps callbacks \
    optimizer random-seed pretrained seed name loss metrics shuffle prefetch resume; do
    "$DTRAIN" evaluate tiny.yaml --$option x 2>&1 | sed -n 's/.*: write \([a-z_.]*\)=.*/\1/p'
done); do
    "$DTRAIN" validate tiny.yaml "$key=x" 2>&1 | grep -q 'DT001' && echo "$key is no key"
done
# the job's file
hint tiny.yaml
hint fit tiny.yml
"$DTRAIN" validate tiny.yml 2>&1 | tail -n 1
"$DTRAIN" validate tiny 2>&1 | tail -n 1
cp tiny.yaml other.yml
"$DTRAIN" validate other.yaml 2>&1 | tail -n 1
"$DTRAIN" validate nothing.yaml 2>&1 | tail -n 1
hint fit tiny.yaml notes.txt
hint fit epochs tiny.yaml
hint fit tiny.yaml fit.epochs 3
: >empty.yaml
show validate empty.yaml
# empty: refused, everywhere
for words in 'topology --tpu|' 'topology --tpu=' 'plan tiny.yaml --tpu|' 'predict tiny.yaml -o|' 'evaluate tiny.yaml --ckpt|' 'fit tiny.yaml --expect|' 'fit|' 'report|' \
    'fit tiny.yaml --log-file|' 'fit -C| tiny.yaml' 'export tiny.yaml -o|' 'ckpt diff run|' 'help|' 'data inspect|' '|'; do
    (
        IFS=' '
        set -f
        set --
        for word in $(echo "$words" | sed 's/|/ EMPTY/g'); do if [ "$word" = EMPTY ]; then set -- "$@" ''; else set -- "$@" "$word"; fi; done
        "$DTRAIN" "$@" >out 2>err
        code=$?
        [ $code -eq 64 ] || { echo "$words: exit $code" && cat err; }
    )
done
hint topology --tpu ''
exits 0 topology --tpu
exits 0 plan tiny.yaml --tpu
exits 0 topology tiny.yaml 'strategy={type: tpu, cluster_resolver: {tpu: ""}}'
# the strategy's default
grep -v '^strategy' tiny.yaml >bare.yaml
exits 0 fit bare.yaml -q output.dir=bare
"$DTRAIN" config show bare.yaml --origin | grep -A 1 '^strategy'
for words in '' strategy=null strategy.type=mirrored; do
    # shellcheck disable=SC2086
    "$DTRAIN" fit bare.yaml --json --fresh output.dir=bare $words | weights /dev/stdin
done | sort -u | wc -l
exits 0 topology bare.yaml --tpu v3-8 strategy.type=tpu strategy.cluster_resolver.tpu=sim:v3-8
# keys of a layer, an optimizer, ...
for name in Dense dense Conv2D Adam EarlyStopping early_stopping SparseCategoricalCrossentropy AUC normalize CosineDecay checkpoint; do
    "$DTRAIN" help $name >a || echo "help $name: exit $?"
    "$DTRAIN" config reference $name >b || echo "config reference $name: exit $?"
    cmp a b
    head -n 1 a
done
"$DTRAIN" help Dense | sed -n '3,4p'
hint help Desne
hint config reference Desne
"$DTRAIN" -V | sed 's/[0-9.]*$/N/'
# annotations name files that exist, or none
"$DTRAIN" validate --format github tiny.yaml fit.epochs=x
"$DTRAIN" validate --format github - <tiny.yaml fit.epochs=x
sed 's/epochs: 2/epochs: x/' tiny.yaml >wrong.yaml
"$DTRAIN" validate --format github wrong.yaml nothing.yaml || echo "exit $?"
# options of other verbs, and of other programs in their spelling
for option in '--format github' '--format csv' --top '--learning_rate 0.1' --max_epochs=3 --batch_size --num_train_epochs '--ckpt_path x' --fp16 --deterministic \
    --gpus=2 --nproc_per_node=2 --early-stopping --warmup_steps --num-threads=2 --zebra; do
    # shellcheck disable=SC2086 # words
    hint fit tiny.yaml $option
done
hint evaluate tiny.yaml --ckpt_path x
hint ckpt ls run --learning_rate 3
# names and keys of other programs; each name that "did you mean" gives is one
hints() { "$DTRAIN" validate tiny.yaml "$@" 2>&1 | sed -n 's/^ *| *^* *\(.*\)/\1/p' | head -n 1; }
for words in model.layers.1=nn.Linear model.layers.1=ConvTranspose2d model.layers.1=keras.layers.Desne model.layers.1=BiLSTM model.layers.1=Sequential \
    compile.loss=CrossEntropyLoss compile.loss=BCEWithLogitsLoss compile.loss=torch.nn.MSELoss 'compile.metrics=[confusion_matrix]' \
    'compile.metrics=[f1_macro]' 'compile.metrics=[roc_auc]' 'compile.metrics=[f1]' compile.optimizer=torch.optim.AdamW compile.optimizer=sgd_momentum \
    strategy.type=fsdp trainer.max_epochs=3 fit.lr=1 compile.scheduler=cosine fit.early_stopping=true dataset.label=y dataset.sep=x \
    checkpoint.save_best_only=true model.pretrained=x fit.callbacks=Early 'compile.metrics="*"' compile.metrics=a,b; do
    echo "$words: $(hints "$words")"
done
# a word in place of a section
for words in strategy=ddp strategy=DDPStrategy strategy=tf.distribute.MirroredStrategy strategy=zero-3 strategy=horovod strategy=mirrored strategy=miror \
    'strategy=[ddp]' output=runs/x fit=3 compile=adam dataset=rows.csv checkpoint=runs/one backend=pjrt reproducible=true model=x; do
    echo "$words: $(hints "$words")"
    "$DTRAIN" validate tiny.yaml "$words" 2>&1 | sed -n 's/^    write/    write/p'
done
"$DTRAIN" explain unknown KEY
"$DTRAIN" explain launcher mpirun | head -n 1
hint explain zebra unknown
sed -n "s/.*did you mean '\([A-Za-z0-9]*\)'?.*/\1/p" "$OLDPWD/lib/conf/foreign_names.c" | sort -u >names
while read -r name; do
    "$DTRAIN" help "$name" >page 2>&1 || case $name in
    mirrored | multi_worker_mirrored | one_device | parameter_server | tpu) ;;
    *) echo "there is no '$name'" ;;
    esac
done <names
