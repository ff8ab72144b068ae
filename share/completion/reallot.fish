# Completion of reallot for fish: commands and options from its help, files, and
# names of what is shipped.
function __reallot_commands
    reallot --help | string replace -rf '^  ([a-z-]+) +([A-Z].*)$' '$1\t$2'
end

function __reallot_options # COMMAND
    for line in (reallot $argv --help | string replace -rf \
            '^  (?:-\w, )? *--([a-z-]+)(?:=\S*)? +(.*)$' '$1\t$2')
        set -l part (string split \t $line)
        complete -c reallot -n "__fish_seen_subcommand_from $argv" \
            -l $part[1] -d "$part[2]"
    end
end

function __reallot_shipped
    reallot list $argv --format=tsv | tail -n +3 | cut -f1
end

complete -c reallot -n __fish_use_subcommand -f -a '(__reallot_commands)'
for line in (__reallot_commands)
    __reallot_options (string split \t $line)[1]
end
for command in simulate run export report diff plot inspect trace
    complete -c reallot -n "__fish_seen_subcommand_from $command" \
        -a '(__reallot_shipped plans)'
end
complete -c reallot -n '__fish_seen_subcommand_from study' \
    -a '(__reallot_shipped studies)'
complete -c reallot -l gpu -x -a '(__reallot_shipped gpus)'
complete -c reallot -l model -r -a '(__reallot_shipped models)'
complete -c reallot -l workload -r -a '(__reallot_shipped workloads)'
complete -c reallot -l cluster -r -a '(__reallot_shipped clusters)'
complete -c reallot -l system -r -a '(__reallot_shipped systems)'
