# SPDX-License-Identifier: Apache-2.0
# What dtrain's command line may go on with: dtrain itself says it. Printed by 'dtrain completions fish'.

# $argv: kind, beginning of a path. A job is a file, or lies in a directory; a run has checkpoints, and what leads to one is offered, too.
function __dtrain_files
    switch $argv[1]
        case files
            __fish_complete_path $argv[2]
        case directories
            __fish_complete_directories $argv[2] ''
        case jobs
            string match -r '.*(?:\.ya?ml|/)(?:\t.*)?$' -- (__fish_complete_path $argv[2])
        case runs
            for dir in (__fish_complete_directories $argv[2] '')
                set -l name (string replace -r '\t.*' '' -- $dir)
                set -l found $name/ckpt $name*/ckpt $name*/*/ckpt
                test -d "$found[1]" -o (count $found) -gt 1; and echo $dir
            end
    end
end

function __dtrain_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    for line in ($words[1] __complete fish $words[2..-1] "$token" 2>/dev/null)
        if string match -q ':*' -- $line
            set -l kind (string replace -r '^:(\S*).*' '$1' -- $line)
            set -l prefix (string replace -r '^:\S* (.*)\t' '$1' -- $line)
            for file in (__dtrain_files $kind (string sub -s (math (string length -- "$prefix") + 1) -- "$token"))
                echo -- $prefix$file
            end
        else
            echo -- $line
        end
    end
end
complete -c dtrain -f -a '(__dtrain_complete)'
