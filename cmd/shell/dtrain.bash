# SPDX-License-Identifier: Apache-2.0
# What dtrain's command line may go on with: dtrain itself says it. Printed by 'dtrain completions bash'. bash cuts words at '=' and ':',
# so the line is cut here, at blanks, and what stands behind the last of these characters is given back. A word cut at '@' keeps it.

# $1: kind; $2: a file. A run has checkpoints, and what leads to one is offered, too.
_dtrain_fits() {
    if [[ $1 == files ]]; then return 0; fi
    if [[ $1 == jobs && ( $2 == *.yaml || $2 == *.yml ) ]]; then return 0; fi
    [[ -d $2 ]] && { [[ $1 != runs || -d $2/ckpt ]] || compgen -G "$2/*/ckpt" || compgen -G "$2/*/*/ckpt"; } >/dev/null
}

_dtrain() {
    local line=${COMP_LINE:0:COMP_POINT} cur='' quote='' word kind prefix file
    local -a past
    COMPREPLY=()
    read -ra past <<<"$line"
    if [[ $line != *[[:space:]] ]]; then cur=${past[-1]} && unset 'past[-1]'; fi
    case $cur in [\'\"]*) quote=${cur:0:1} cur=${cur:1} ;; esac
    while IFS=$'\t' read -r word _; do
        if [[ $word != :* ]]; then COMPREPLY+=("$word") && continue; fi
        kind=${word#:} prefix=${kind#* } kind=${kind%% *}
        compopt -o filenames 2>/dev/null
        while IFS= read -r file; do
            if _dtrain_fits "$kind" "$file"; then COMPREPLY+=("$prefix$file"); fi
        done < <(compgen -f -- "${cur#"$prefix"}")
    done < <("$1" __complete bash "${past[@]:1}" "$cur" 2>/dev/null)
    case ${COMPREPLY[0]-} in *[\<\>]=) compopt -o filenames 2>/dev/null ;; esac
    case ${COMPREPLY[0]-} in *[=.]) compopt -o nospace 2>/dev/null ;; esac
    word=${cur##*[=:]}
    case $word in *@*) word=@${word##*@} ;; esac
    if [[ -z $quote ]]; then COMPREPLY=("${COMPREPLY[@]#"${cur%"$word"}"}"); fi
}
complete -F _dtrain dtrain
