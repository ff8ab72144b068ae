#!/bin/bash
# reallot calibrate --communicator=nccl over several processes, on the double of
# NCCL between them: which groups are measured, on which nodes, and what is
# refused before anything is.  Times are the double's, and nothing is asserted
# of them; that a fit finds the law of rows is tests/estimator/check_collective_fit.c's.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/mpi/mpi_impl.sh
. "${srcdir:?is set by make check}/tests/mpi/mpi_impl.sh"

program=$builddir/tests/reallot-cores-mpi
calibrate=(calibrate --backend=cuda --communicator=nccl
  --refit h100-sxm.profile --quick)

# A process each with NCCL_HOSTID as in HOSTS, what else it has from ARGUMENT...;
# words of the double in gpus.
gpus=4
on() { # "HOST..." ARGUMENT...
  local host line=()
  for host in $1; do
    line+=(-n 1 env "NCCL_HOSTID=$host" "$program" "${calibrate[@]}" "${@:2}" :)
  done
  unset "line[-1]"
  rm -f mine.*
  NCCL_DOUBLE="gpus=$gpus" timeout 120 mpirun -q "${line[@]}" \
    >out 2>err </dev/null
  rc=$?
}
measures() { # "HOST..." SAYS ARGUMENT...
  on "$1" "${@:3}" -o mine.profile
  [ "$rc" -eq 0 ] && [ ! -s out ] && [ -s mine.profile ] &&
    grep -q "^reallot: [0-9]* shapes measured in .* on $2," err
  result $? "$1, $gpus GPUs seen: $2"
  [ "$rc" -eq 0 ] || sed 's/^/# /' err
}
refuses() { # STATUS MESSAGE
  [ "$rc" -eq "$1" ] && [ ! -s out ] &&
    [ "$(grep -c '^reallot: ' err)" -eq 1 ] && grep -q "^reallot: $2" err
  result $? "refused: $2"
  grep -q "^reallot: $2" err || sed 's/^/# /' err
  [ -z "$(ls mine.* 2>/dev/null)" ]
  result $? "and nothing is written"
}
# What was measured, without when.
shapes() { grep -v '^#' mine.collectives.trace.tsv | cut -f1,5-8; } # name, ranks, stream, op, shape
rows() { shapes | awk -F'\t' -v r="$1" '$2 == r' | wc -l; }

# Two nodes of two GPUs, 8 to 64 B.  Alone 4 sizes; two groups at a time, where
# there are two, 1 (by powers of 16); two passes.  Pairs in a node, and the same
# GPU of both, of which there are two each: 6 kinds (with sends) of 5 rows; all
# four: 5 kinds of 4.
cat >two.cluster <<END
[cluster]
format = 1
nodes = 2
gpus-per-node = 2
gpu = h100-sxm
nics-per-node = 2
nic = 200 Gbit/s
END
measures 'a a b b' '2 nodes of 2 GPUs' --largest 64B --cluster two.cluster
[ "$(rows 0-1) $(rows 0,2) $(rows 0-3)" = '60 60 40' ] &&
  [ "$(shapes | wc -l)" -eq 161 ]
result $? "pairs of a node, pairs across, all: who they are"
# Bytes and ranks of each: 0,2 has one a node, two nodes.
shapes | awk -F'\t' 'NR > 1 {
    n = $2 == "0-3" ? 4 : 2
    here = $2 == "0,2" ? 1 : 2
    want = "ranks=" n ",ranks_per_node=" here ","
    if ($3 == "tp" && $1 ~ /^send/) want = "inter_node=" ($2 == "0,2") ","
    if (!index($5, want) || !match($5, /^bytes=(8|16|32|64),/)) bad = 1 }
  END { exit bad }'
result $? "what they carry"
grep -q '^# nodes: 2$' mine.collectives.trace.tsv &&
  grep -q '^# gpus-per-node: 2$' mine.collectives.trace.tsv &&
  grep -q '^# nic-bytes-per-s: 2.5e+10$' mine.collectives.trace.tsv
result $? "the nodes and their NICs"
! grep -q 'unknown NICs' err
result $? "which are known"
sed -n '/^\[law inter-node\]/,/^\[/p' mine.profile |
  grep -q '^source = .* ops, .* samples of mine.collectives.trace.tsv'
result $? "the law between nodes is theirs"
mv mine.profile first.profile
"$reallot" calibrate --from mine.collectives.trace.tsv \
  --refit h100-sxm.profile -o again.profile 2>err && cmp first.profile again.profile
result $? "and is what --from says of the trace, to the bit"
shapes >four

# The same machine in other hands: a process a node, two of the four GPUs that
# both see each; processes that see their own alone, one or two; two of eight.
gpus=4 && measures 'a b' '2 nodes of 2 GPUs' --largest 64B
grep -q 'unknown NICs' err
result $? "NICs that nobody has named are told of"
shapes | cmp -s - four
result $? "the same groups of two processes"
gpus=1 && measures 'a a b b' '2 nodes of 2 GPUs' --largest 8B
gpus=8 && measures 'a a b b' '2 nodes of 4 GPUs' --largest 8B --ranks 8
gpus=2 && measures 'a a a a' '1 node of 8 GPUs' --largest 8B

# Differences.
gpus=4
on 'a b a b' --largest 8B -o mine.profile
refuses 2 'process 2 is on a, as is an earlier one, with another host between them'
on 'a b b' --largest 8B -o mine.profile
refuses 2 'a has 1 processes and b 2, expected as many on each host'
on 'a b' --ranks 3 -o mine.profile
refuses 2 '3 GPUs of 2 processes'
on 'a a a b b b' --ranks 30 --largest 8B -o mine.profile
refuses 2 'rank [0-9]* needs GPU [0-9]* of its machine, which has 4'
on 'a b' --largest 8B --cluster two.cluster --ranks 2 -o mine.profile
refuses 2 '--cluster: it has 2 nodes of 2 GPUs, but the processes run on 2 of 1'
other() { # MESSAGE FLAG VALUE VALUE
  rm -f mine.*
  NCCL_DOUBLE=gpus=4 timeout 60 mpirun -q -n 1 "$program" "${calibrate[@]}" \
    -o mine.profile "$2" "$3" : -n 1 "$program" "${calibrate[@]}" \
    -o mine.profile "$2" "$4" >out 2>err </dev/null
  rc=$?
  refuses 2 "$1"
}
sed 's/200/400/' two.cluster >fast.cluster
other 'the cluster of process 1 is not that of process 0' \
  --cluster two.cluster fast.cluster
other 'what is to be measured of process 1 is not that' --largest 8B 16B
rm -f mine.*
timeout 60 mpirun -q -n 1 env NCCL_DOUBLE=gpus=2 "$program" "${calibrate[@]}" \
  -o mine.profile : -n 1 env NCCL_DOUBLE=gpus=4 "$program" "${calibrate[@]}" \
  -o mine.profile >out 2>err </dev/null
rc=$?
refuses 2 'the number of GPUs of process 1 is not that of process 0'

# Lost while it measures, on the way to 16 MiB: when it has computed for a
# second, which to start and meet takes less than.
seconds() { awk '{ print int(($14 + $15) / 100) }' "/proc/$1/stat" 2>/dev/null; }
loses_one() { # SIGNAL SAYS
  local i=0 pid victim=
  on 'a b' --ranks 2 -o mine.profile &
  pid=$!
  until victim=$(process_of 1 "ranks 2 -o mine.profile") &&
    [ "$(seconds "$victim")" -ge 1 ] 2>/dev/null; do
    [ $((i += 1)) -lt 400 ] || break
    sleep 0.05
  done
  kill -"$1" "$victim"
  wait $pid
  # In a shell of its own: what it wrote is here.
  rc=4
  refuses 4 "rank 1 (process 1 on .*) $2"
  [ -z "$(process_of 1 "ranks 2 -o mine.profile")" ]
  result $? "and nobody is left"
}
loses_one KILL died
loses_one STOP 'sent nothing for 10 s'

echo "1..$n"
