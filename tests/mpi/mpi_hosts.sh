#!/bin/bash
# Two machines, or what MPI takes for them: network namespaces with a wire
# between them and hostnames of their own; processes talk over TCP.  What they
# compute is what threads of one process do, and one that dies is named.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

skip() {
  echo "1..0 # SKIP $1"
  exit 0
}
[ -x "$builddir/reallot-mpi" ] || skip "built without MPI"
for command in mpirun ip unshare hostname; do
  command -v $command >/dev/null || skip "no $command"
done
[ "$(id -u)" -eq 0 ] || skip "network namespaces want root"
a=ra$$a b=ra$$b
remove() {
  ip netns del $a 2>/dev/null
  ip netns del $b 2>/dev/null
  rm -rf "$tmp"
}
trap remove EXIT
{ ip netns add $a && ip netns add $b &&
  ip link add ${a}w netns $a type veth peer name ${b}w netns $b
} 2>/dev/null || skip "no network namespaces here"
wire() { # NAMESPACE WIRE ADDRESS
  ip -n "$1" addr add "$3/24" dev "$2" && ip -n "$1" link set "$2" up &&
    ip -n "$1" link set lo up
}
wire $a ${a}w 10.99.7.1 || skip "no wire"
wire $b ${b}w 10.99.7.2 || skip "no wire"

# What ssh is elsewhere: AGENT HOST COMMAND...
cat >agent <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
exec ip netns exec \$host unshare -u sh -c "hostname \$host; \$*"
END
chmod +x agent
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  OMPI_MCA_plm_rsh_agent="$tmp/agent" OMPI_MCA_plm_rsh_no_tree_spawn=1 \
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none \
  OMPI_MCA_btl_tcp_if_include=10.99.7.0/24 \
  OMPI_MCA_oob_tcp_if_include=10.99.7.0/24 OMPI_MCA_btl=tcp,self
# As tests/mpi/mpi.sh says.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

hosts() { # N ARGUMENT...: N processes on each of the two
  local p=$1
  shift
  ip netns exec $a unshare -u sh -c "hostname $a; exec \"\$@\"" sh \
    timeout 120 mpirun -q -x RA_DATA_PATH -x LC_ALL -x ASAN_OPTIONS \
    -H "$a:$p,$b:$p" -n $((2 * p)) "$reallot" "$@" >out 2>err </dev/null
  rc=$?
}
# Nothing but what mpirun itself warns of when a child of it is the quicker one.
is_quiet() { ! grep -vq 'plm:rsh: Warning: setpgid' err; }

works run ppo-tiny-8.plan -n 3 --save actor=local --format=tsv
grep -v '^#' out | cut -f1-7 >local.values
for p in 1 2; do
  rm -rf far
  hosts $p run ppo-tiny-8.plan -n 3 --save actor=far --format=tsv
  [ "$rc" -eq 0 ] && is_quiet
  result $? "$p processes on each of two hosts"
  sed 's/^/# /' err | head
  grep -v '^#' out | cut -f1-7 >far.values
  [ "$(wc -l <far.values)" -eq 4 ] && cmp -s local.values far.values &&
    cmp -s local/model.safetensors far/model.safetensors
  result $? "the same numbers and weights"
done

# Two nodes of two GPUs, a host each; and where they are not.
cat >two.cluster <<END
[cluster]
format = 1
nodes = 2
gpus-per-node = 2
gpu = h100-sxm
nics-per-node = 2
nic = 400 Gbit/s
END
for call in actor_generate ref_inference actor_train; do
  printf '[call %s]\nmesh = node[0-1]\ndp = 4\n' $call
done >calls
{
  printf '[plan]\nformat = 1\nworkload = grpo-tiny.workload\n'
  printf 'cluster = two.cluster\n'
  cat calls
} >two.plan
for p in 1 2; do
  hosts $p run two.plan -n 1 --hosts=planned
  [ "$rc" -eq 0 ] && is_quiet
  result $? "$p processes on each of the hosts of two nodes"
  sed 's/^/# /' err | head
done
hosts 2 run ppo-tiny-8.plan -n 1 --hosts=planned
[ "$rc" -eq 2 ] && [ "$(grep -c '^reallot: ' err)" -eq 1 ] &&
  grep -q "^reallot: node 0 of the plan is on two hosts, rank 3 on $a and" err
result $? "a node that is split over two hosts is refused"

# The other host's process is lost.
hosts 1 run ppo-tiny-8.plan -n 60 --checkpoint k.hosts &
pid=$!
i=0
while [ ! -d k.hosts/iteration-000002 ] && [ $((i += 1)) -lt 1200 ]; do
  sleep 0.05
done
for victim in $(ip netns pids $b); do
  tr '\0' '\n' <"/proc/$victim/environ" |
    grep -q '^OMPI_COMM_WORLD_RANK=1$' && kill -KILL "$victim"
done
begin=$(date +%s)
wait $pid
[ $(($(date +%s) - begin)) -le 10 ] &&
  [ "$(grep -c '^reallot: ' err)" -eq 1 ] &&
  grep -q "^reallot: ranks 4 to 7 (process 1 on $b) died" err
result $? "a process of the other host that dies is named, and all end"
grep -q "^reallot: ranks 4 to 7" err || sed 's/^/# /' err

echo "1..$n"
