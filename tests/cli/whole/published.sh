#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The jobs of configs/published, made small by overrides, as are their slices: each trains; a Llama that is divided over two
# chips has the losses of one that is not.
# shellcheck disable=SC2086 # lists of words
. tests/cli/setup.sh
. tests/cli/jobs.sh
losses() {
    job=$1
    shift
    "$DTRAIN" fit "configs/published/$job.yaml" --json --every-step --fresh output.dir="$TEST_DIR/$job" checkpoint.save_freq=epoch compile.precision=float32 "$@" 2>"$TEST_DIR/err" |
        sed -n 's/.*"event":"step".*"step":\([0-9]*\).*"loss":\([0-9.]*\).*/\1 \2/p'
    cat "$TEST_DIR/err" >&2
}
fall() {
    awk -v job="$1" -v to="$2" '{ first = NR == 1 ? $2 : first; last = $2 }
        END { print job ": " NR " steps, " (last < to * first ? "the loss falls" : "the loss goes from " first " to " last) }'
}
words='let.layers=2 let.intermediate=48 let.examples=16 let.batch=8'
decoder="$words let.width=32 let.heads=4 let.vocabulary=32 let.sequence=12 let.rate=0.01 fit.steps=16"
llama="$decoder let.kv_heads=2 let.head_dim=8"
two='let.slice=sim:v4-8 let.replicas=2 let.block=[2,1,1,1] let.tensor=2'

losses llama3-8b $llama let.slice=sim:v4-8 let.replicas=4 >"$TEST_DIR/whole"
fall llama3-8b 0.8 <"$TEST_DIR/whole"
losses llama3-8b $llama $two >"$TEST_DIR/cut"
paste -d ' ' "$TEST_DIR/whole" "$TEST_DIR/cut" | awk '{ d = $2 - $4; if ($1 != $3 || d > 1e-3 || d < -1e-3) print "step " $0 }'
fall 'llama3-8b over two chips' 0.8 <"$TEST_DIR/cut"
losses llama3.1-405b $llama $two | fall llama3.1-405b 0.8
losses decoder-ungated $llama $two | fall decoder-ungated 0.8
losses gpt3-175b $decoder $two | fall gpt3-175b 0.8
losses palm-540b $decoder $two let.embed_split=[1,2] let.head_dim=8 | fall palm-540b 0.95
losses bert-large $decoder let.masked=3 let.dropout=0 let.slice=sim:v4-8 let.replicas=2 | fall bert-large 0.95
losses vit-b16 $words let.width=32 let.heads=4 let.image=16 let.patch=8 let.classes=4 let.dropout=0 let.slice=sim:v4-8 let.replicas=2 let.rate=0.01 \
    fit.steps=8 | fall vit-b16 0.8
losses resnet50 let.image=32 let.classes=4 let.stem=8 let.inner_1=4 let.outer_1=8 let.inner_2=4 let.outer_2=8 let.inner_3=4 let.outer_3=8 let.inner_4=4 \
    let.outer_4=8 'let.blocks_1=[1b]' 'let.blocks_2=[2b]' 'let.blocks_3=[3b]' 'let.blocks_4=[4b]' let.examples=16 let.batch=8 let.slice=sim:v4-8 \
    let.replicas=2 let.rate=0.05 fit.steps=8 | fall resnet50 0.9
latent='let.dense=1 let.layers=2 let.width=32 let.intermediate=48 let.expert=16 let.shared_experts=16 let.experts=4 let.top_k=2 let.capacity=2 let.heads=4
    let.query_rank=16 let.rank=12 let.flat=6 let.turned=4 let.value=8 let.vocabulary=32 let.sequence=12 let.examples=16 let.batch=8 let.rate=0.01 fit.steps=16'
losses deepseek-v3 $latent let.slice=sim:v4-8 let.replicas=4 >"$TEST_DIR/whole"
fall deepseek-v3 0.8 <"$TEST_DIR/whole"
losses deepseek-v3 $latent $two let.expert_parts=2 let.expert_rest=1 >"$TEST_DIR/cut"
paste -d ' ' "$TEST_DIR/whole" "$TEST_DIR/cut" | awk '{ d = $2 - $4; if ($1 != $3 || d > 1e-3 || d < -1e-3) print "step " $0 }'
losses llama4-scout $llama let.layers=1 let.experts=4 let.capacity=2 let.chunk=4 $two | fall llama4-scout 0.8
oss="$llama let.layers=1 let.experts=4 let.top_k=2 let.capacity=2 let.window=4"
losses gpt-oss-20b $oss let.slice=sim:v4-8 let.replicas=4 >"$TEST_DIR/whole"
fall gpt-oss-20b 0.8 <"$TEST_DIR/whole"
losses gpt-oss-20b $oss $two let.expert_parts=2 let.expert_rest=1 >"$TEST_DIR/cut"
paste -d ' ' "$TEST_DIR/whole" "$TEST_DIR/cut" | awk '{ d = $2 - $4; if ($1 != $3 || d > 1e-3 || d < -1e-3) print "step " $0 }'
losses gpt-oss-20b $oss let.slice=sim:v4-8 let.replicas=4 model.flash_attention=false >"$TEST_DIR/scores"
paste -d ' ' "$TEST_DIR/whole" "$TEST_DIR/scores" | awk '{ d = $2 - $4; if ($1 != $3 || d > 1e-3 || d < -1e-3) print "step " $0 }'
losses gpt-oss-120b $oss $two | fall gpt-oss-120b 0.8
for job in wan2.1-14b wan2.1-1.3b; do
    losses $job let.layers=2 let.width=24 let.six_widths=144 let.intermediate=48 let.heads=2 let.head_dim=12 let.frames=2 let.rows=2 let.columns=3 \
        let.patch=4 let.words=3 let.text=8 let.sines=16 let.examples=16 let.batch=8 let.slice=sim:v4-8 let.replicas=4 let.rate=0.01 fit.steps=16 |
        fall $job 0.95
done
losses whisper-large $words let.width=32 let.heads=4 let.head_dim=8 let.frames=16 let.positions=8 let.bands=4 let.words=6 let.vocabulary=32 \
    let.slice=sim:v4-8 let.replicas=2 let.rate=0.01 fit.steps=16 | fall whisper-large 0.8
losses t5-xxl let.more=1 let.width=32 let.intermediate=48 let.heads=4 let.head_dim=8 let.vocabulary=32 let.words=8 let.targets=6 let.examples=16 \
    let.batch=8 let.slice=sim:v4-8 let.replicas=2 let.rate=0.01 fit.steps=16 | fall t5-xxl 0.8
losses stable-diffusion-2-unet let.size_1=16 let.size_2=8 let.size_3=4 let.size_4=2 let.channels_1=8 let.channels_2=16 let.channels_3=16 let.hidden_1=16 \
    let.hidden_2=16 let.hidden_3=16 let.heads_1=1 let.heads_2=2 let.heads_3=2 let.head_dim=4 let.groups=4 let.words=3 let.text=8 let.time=16 \
    let.examples=16 let.batch=8 let.slice=sim:v4-8 let.replicas=2 let.rate=0.01 fit.steps=16 | fall stable-diffusion-2-unet 0.8
