#compdef dtrain
# SPDX-License-Identifier: Apache-2.0
# What dtrain's command line may go on with: dtrain itself says it. Printed by 'dtrain completions zsh'.

# Directories with checkpoints, and what leads to one.
_dtrain_is_run() { local -a found=($REPLY/{,*/,*/*/}ckpt(N/)); (( $#found )) }

_dtrain() {
    local line word kind
    local -a whole open files
    for line in ${(f)"$($words[1] __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)"}; do
        word=${line%%$'\t'*}
        case $word in
        (:*) files+=($word) ;;
        (*[=.]) open+=("${word//:/\\:}:${line#*$'\t'}") ;; # goes on: no blank behind it
        (*) whole+=("${word//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    if (( $#whole )); then _describe -V dtrain whole; fi
    if (( $#open )); then _describe -V dtrain open -S ''; fi
    for word in $files; do
        kind=${${word#:}%% *}
        compset -P "${(b)word#* }"
        case $kind in
        (files) _files ;;
        (directories) _directories ;;
        (jobs) _files -g '*.(yaml|yml)' ;;
        (runs) _path_files -g '*(-/+_dtrain_is_run)' ;;
        esac
    done
}
if [[ $funcstack[1] == _dtrain ]]; then _dtrain "$@"; else compdef _dtrain dtrain; fi
