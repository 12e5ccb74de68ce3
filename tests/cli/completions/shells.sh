#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Completions: each shell that is here takes the script, and really completes: the same lines, the first word that it offers.
. tests/cli/setup.sh
for shell in bash zsh fish; do
    "$DTRAIN" completions $shell >"$TEST_DIR/$shell" || echo "$shell: exit $?"
    if command -v $shell >/dev/null; then $shell -n "$TEST_DIR/$shell" || echo "$shell does not take it"; else echo "skipped: no $shell" >&2; fi
done
if command -v shellcheck >/dev/null; then shellcheck -s bash "$TEST_DIR/bash"; fi
mkdir "$TEST_DIR/bin" && ln -s "$(realpath "$DTRAIN")" "$TEST_DIR/bin/dtrain"
export PATH="$TEST_DIR/bin:$PATH"
mkdir "$TEST_DIR/work" && : >"$TEST_DIR/work/alpha.yaml" && : >"$TEST_DIR/work/alpha.txt" && mkdir -p "$TEST_DIR/work/below" "$TEST_DIR/work/best/one/ckpt"

# A line, and what is to be offered for its last word.
cat >"$TEST_DIR/lines" <<'END'
dtrain topo:topology
dtrain data sy:synth
dtrain data synth dig:digits
dtrain help ev:evaluate
dtrain help ckpt ver:verify
dtrain help data sy:synth
dtrain completions z:zsh
dtrain fit al:alpha.yaml
dtrain fit --kern:--kernels
dtrain fit --kernels oned:onednn
dtrain fit -q alpha.yaml fit.ep:fit.epochs=
dtrain fit alpha.yaml dataset.last_batch=pad:dataset.last_batch=pad
dtrain fit alpha.yaml compile.optimizer.SGD.nest:compile.optimizer.SGD.nesterov=
dtrain evaluate -C bel:below/
dtrain topology --tpu v3-12:v3-128
dtrain plan --tpu=v5e-12:--tpu=v5e-128
dtrain plan alpha.yaml --tpu tpu7x-1766:tpu7x-17664
dtrain plan --tpu alp:alpha.yaml
dtrain plan --tpu v3-8 alp:alpha.yaml
dtrain topology --cores-per-chip 2:2
dtrain fit --resume mu:must
dtrain fit --resume alpha.t:alpha.txt
dtrain fit alpha.yaml --inject hb:hbm=
dtrain lower --stage fo:folded
dtrain export --to saf:safetensors
dtrain report be:best/
dtrain report best/:best/one/
dtrain ckpt ls best/o:best/one/
dtrain ckpt verify alpha.t:alpha.txt
dtrain config diff alpha.yaml bes:best/
dtrain explain DT192:DT192
dtrain fit --log-file=alpha.t:--log-file=alpha.txt
END

cat >"$TEST_DIR/try.bash" <<'END'
source "$TEST_DIR/bash"
cd "$TEST_DIR/work" || exit
while IFS=: read -r line want; do
    COMP_LINE=$line COMP_POINT=${#line}
    _dtrain dtrain
    got=${COMPREPLY[0]-}
    last=${line##* }
    case $last in *=*) got=${last%%=*}=$got ;; esac
    if [[ -d $got ]]; then got+=/; fi
    [[ $got == "$want" && ${#COMPREPLY[@]} -eq 1 ]] || echo "bash: '$line' gives '${COMPREPLY[*]-}', not '$want'"
done <"$TEST_DIR/lines"
END
cat >"$TEST_DIR/try.fish" <<'END'
source "$TEST_DIR/fish"
cd "$TEST_DIR/work"
while read -d : -l line want
    set -l got (complete -C "$line" | cut -f1)
    test "$got" = "$want"; or echo "fish: '$line' gives '$got', not '$want'"
end <"$TEST_DIR/lines"
END
# zsh completes in an interactive shell alone: one on a terminal of its own, whose key ^T writes down the line.
cat >"$TEST_DIR/try.zsh" <<'END'
zmodload zsh/zpty || exit
zpty z zsh -f -i
zpty -w z "PS1=; TEST_DIR=${(q)TEST_DIR}"
zpty -w z 'autoload -Uz compinit; compinit -u -d $TEST_DIR/dump; source $TEST_DIR/zsh; cd $TEST_DIR/work'
zpty -w z 'show() { print -r -- "$BUFFER" >>$TEST_DIR/shown; }; zle -N show; bindkey "^T" show; setopt no_auto_menu; : >$TEST_DIR/shown'
for i in {1..600}; do [[ -e $TEST_DIR/shown ]] && break; sleep 0.1; done
n=0
while IFS=: read -r line want; do
    zpty -n -w z "$line"$'\t\x14\x15'
    (( n++ ))
    for i in {1..600}; do (( $(wc -l <$TEST_DIR/shown) >= n )) && break; sleep 0.05; done
    got=$(tail -n 1 $TEST_DIR/shown)
    [[ ${${got% }%=} == ${${line% *}% }\ ${want%=} ]] || print -r -- "zsh: '$line' gives '$got', not '$want'"
done <$TEST_DIR/lines
zpty -d z
END
for shell in bash zsh fish; do
    if command -v $shell >/dev/null; then env HOME="$TEST_DIR" $shell "$TEST_DIR/try.$shell"; fi
done
show completions
show completions tcsh
