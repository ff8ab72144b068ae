# The laws of collectives and sends (estimator/collective.h has the formulas).
# -v GPU=h100|a100 LINK NIC_LATENCY FILE; files: comm_nccl/aic_nccl_intranode.csv,
# comm_nccltests/tables.csv, comm_nccltests/rows.csv,
# comm_deepep/expert_alltoall.csv.
# In a node: the least of three lines per collective and number of ranks, half
# precision, the newest NCCL.  Folds: whole sizes, every third.
# Across nodes: folds are whole tables.
BEGIN { FS = "," }
FILENAME ~ /intranode/ {
  if (FNR > 1 && $1 == GPU && $4 == "half" && $2 == "2.27.3") {
    ALL++
    COLL[ALL] = $3; RANKS[ALL] = $5; BYTES[ALL] = $6; US[ALL] = $8
  }
  next
}
FILENAME ~ /deepep/ {
  # The quickest number of multiprocessors of each size: a tuned system's.
  if (FNR > 1 && $1 == GPU && $2 > 1) {
    us = $11 + $12
    if (!(($2, $4) in QUICKEST) || us < QUICKEST[$2, $4]) {
      if (!(($2, $4) in QUICKEST)) {
        EXCHANGES++
        E_NODES[EXCHANGES] = $2; E_TOKENS[EXCHANGES] = $4
      }
      QUICKEST[$2, $4] = us
      E_BYTES[$2, $4] = $4 * $3 * 2 * remote_nodes($2, $6, $5)
    }
  }
  next
}
FILENAME ~ /tables/ {
  if (FNR > 1 && $2 == "all_reduce" && $5 > 1 && tolower($3) ~ "^" GPU && \
      $6 !~ /EFA/) {
    # EFA's latencies are twice InfiniBand's: the law is the latter's.
    TABLE[$1] = ++N_TABLES
    RANKS_OF[$1] = $4; NODES_OF[$1] = $5
    # Network of a node, bytes/s, as the table's `interconnect` says it.
    NET[$1] = $6 ~ /HDR 200/ ? 200e9 : $6 ~ /400/ || $6 ~ /same/ ? 400e9 : 0
  }
  next
}
FNR > 1 && ($1 in TABLE) && NET[$1] > 0 {
  INTER++
  I_TABLE[INTER] = TABLE[$1]; I_RANKS[INTER] = RANKS_OF[$1]
  I_NODES[INTER] = NODES_OF[$1]; I_NET[INTER] = NET[$1]
  I_BYTES[INTER] = $6; I_US[INTER] = $7
}

# Other nodes that hold one of the k of e experts that a token visits, on
# average: it is sent to each of them once.  C(e - e / nodes, k) / C(e, k) is
# the chance that a node has none.
function remote_nodes(nodes, e, k,   i, none) {
  none = 1
  for (i = 0; i < k; i++)
    none *= (e - e / nodes - i) / (e - i)
  return (nodes - 1) * (1 - none)
}
function left_out(i, f) { return FOLD[i] % N_FOLDS == f - 1 }
function lines(x) {
  return min(min(P[1] + x / (LINK * P[2]), P[3] + x / (LINK * P[4])), \
             P[5] + x / (LINK * P[6]))
}
# Across nodes: see ra_collective_s().
function inter(i,   n, nodes, f, x, hops) {
  n = I_RANKS[i]
  nodes = I_NODES[i]
  f = 2 * (P[7] * (nodes - 1) / nodes + (1 - P[7]) * (n - 1) / n)
  x = f * I_BYTES[i] / I_NET[i]
  hops = log2(nodes)
  return max(min(P[1] + P[2] * hops + x / P[3], P[4] + P[5] * hops + x / P[6]),
             2 * 7 / 8 * I_BYTES[i] / (LINK * HIGH_FRAC))
}
function exchange_line(i) {
  return min(P[1] + X[i] / (NIC * P[2]), P[3] + X[i] / (NIC * P[4]))
}
function predict(i) {
  if (MODE == "inter")
    return inter(i)
  return MODE == "exchange" ? exchange_line(i) : lines(X[i])
}

# Fits the lines of one collective and number of ranks.
function one(coll, ranks, factor,   i, j) {
  N = 0
  for (i = 1; i <= ALL; i++)
    if (COLL[i] == coll && RANKS[i] == ranks && US[i] > 0) {
      N++
      X[N] = factor * BYTES[i]; T[N] = US[i] * 1e-6
      FOLD[N] = int(log2(BYTES[i]) + 0.5)
    }
  NP = 6
  P[1] = 1e-5;   LOW[1] = 1e-6; HIGH[1] = 1e-4
  P[2] = 0.05;   LOW[2] = 1e-3; HIGH[2] = 1.5
  P[3] = 1.5e-5; LOW[3] = 1e-6; HIGH[3] = 1e-3
  P[4] = 0.4;    LOW[4] = 0.05; HIGH[4] = 1.5
  P[5] = 3e-5;   LOW[5] = 1e-6; HIGH[5] = 1e-3
  P[6] = 0.75;   LOW[6] = 0.05; HIGH[6] = 1.5
  N_FOLDS = 3
  if (N > 0)
    cross(3, 1, 16)
  return N
}
function collective(name, coll, ring, text,   n, k, j, r, rows, median, p90) {
  rows = 0
  median = p90 = 0
  for (n = 2; n <= 8; n *= 2) {
    k = one(coll, n, ring * (n - 1) / n)
    rows += k
    if (k) {
      median += k * ERROR_MEDIAN
      p90 += k * ERROR_P90
      for (j = 1; j <= 6; j++)
        C[n, j] = P[j]
    }
    HAVE[n] = k
  }
  if (!HAVE[4])
    for (j = 1; j <= 6; j++)
      C[4, j] = sqrt(C[2, j] * C[8, j])
  ERROR_MEDIAN = median / rows
  ERROR_P90 = p90 / rows
  printf "[law %s]\n", name
  for (n = 2; n <= 8; n *= 2)
    for (j = 0; j < 3; j++) {
      printf "%s-latency-%d-s = %.4g%s\n", WORD[j], n, C[n, 2 * j + 1], \
        HAVE[n] ? "" : " # geometric mean of 2 and 8"
      printf "%s-bandwidth-%d-frac = %.4g\n", WORD[j], n, C[n, 2 * j + 2]
    }
  printf "source = comm_nccl/aic_nccl_intranode.csv, %s; robust fit\n", text
  printf "rows = %d\n", rows
  print "range = 2 to 8 GPUs of a node; 512 B..512 MiB"
  print_errors("whole sizes left out, 3 folds; mean over numbers of GPUs")
}
function across(   i, j) {
  MODE = "inter"
  N = INTER
  for (i = 1; i <= N; i++) {
    T[i] = I_US[i] * 1e-6
    FOLD[i] = I_TABLE[i]
  }
  N_FOLDS = N_TABLES
  NP = 7
  P[1] = 3e-5; LOW[1] = 1e-6; HIGH[1] = 1e-3
  P[2] = 1e-5; LOW[2] = 1e-7; HIGH[2] = 1e-3
  P[3] = 0.05; LOW[3] = 1e-3; HIGH[3] = 1
  P[4] = 6e-5; LOW[4] = 1e-6; HIGH[4] = 1e-3
  P[5] = 2e-5; LOW[5] = 1e-7; HIGH[5] = 1e-3
  P[6] = 0.7;  LOW[6] = 0.1;  HIGH[6] = 1
  P[7] = GPU == "h100" ? 1 : 0
  LOW[7] = HIGH[7] = P[7]
  cross(N_TABLES, 1, 16)
  print "[law inter-node]"
  printf "low-latency-s = %.4g\n", P[1]
  printf "low-latency-hop-s = %.4g\n", P[2]
  printf "low-bandwidth-frac = %.4g\n", P[3]
  printf "high-latency-s = %.4g\n", P[4]
  printf "high-latency-hop-s = %.4g\n", P[5]
  printf "high-bandwidth-frac = %.4g\n", P[6]
  printf "hierarchical-frac = %g # %s\n", P[7], GPU == "h100" ? \
    "NVLS reduces in the node first" : "no NVLS: one ring through all GPUs"
  print "source = comm_nccltests/rows.csv, all_reduce; the other collectives" \
    " by their share of a ring's traffic"
  printf "rows = %d\n", N
  print "range = 2 to 8 nodes of 8; 8 B..16 GiB; InfiniBand, not EFA"
  print_errors("whole tables left out, " N_TABLES " folds")
  MODE = ""
}
# Expert-parallel combines over nodes, 8 GPUs each.
function exchanges(   i, n, rows, median, p90) {
  MODE = "exchange"
  NIC = 400e9 / 8 # comm_deepep/SOURCE.md: 8 x 400 Gbit/s for 8 GPUs
  print "[law inter-node.all-to-all]"
  for (n = 2; n <= 8; n *= 4) {
    N = 0
    for (i = 1; i <= EXCHANGES; i++)
      if (E_NODES[i] == n) {
        N++
        X[N] = E_BYTES[n, E_TOKENS[i]]
        T[N] = QUICKEST[n, E_TOKENS[i]] * 1e-6
        FOLD[N] = N % 3
      }
    NP = 4
    P[1] = 8e-5;   LOW[1] = 1e-6; HIGH[1] = 1e-2
    P[2] = 0.3;    LOW[2] = 1e-3; HIGH[2] = 1
    P[3] = 2e-4;   LOW[3] = 1e-6; HIGH[3] = 1e-2
    P[4] = 0.6;    LOW[4] = 0.05; HIGH[4] = 1
    N_FOLDS = 3
    cross(3, 1, 24)
    rows += N
    median += N * ERROR_MEDIAN
    p90 += N * ERROR_P90
    printf "low-latency-%d-s = %.4g\n", n, P[1]
    printf "low-bandwidth-%d-frac = %.4g\n", n, P[2]
    printf "high-latency-%d-s = %.4g\n", n, P[3]
    printf "high-bandwidth-%d-frac = %.4g\n", n, P[4]
  }
  ERROR_MEDIAN = median / rows
  ERROR_P90 = p90 / rows
  print "source = comm_deepep/expert_alltoall.csv: BF16 combine and its" \
    " notification, the quickest number of SMs; a token goes once to each node" \
    " that it visits, experts chosen evenly"
  printf "rows = %d\n", rows
  print "range = 2 and 8 nodes of 8; 1 to 131072 tokens of 7168 a GPU"
  print_errors("whole sizes left out, 3 folds; mean over 2 and 8 nodes")
  MODE = ""
}
# A pair of an all-to-all of two ranks is a send of half its bytes.
function send(   j) {
  one("alltoall", 2, 0.5)
  print "[law send]"
  for (j = 0; j < 3; j++) {
    printf "%s-latency-s = %.4g\n", WORD[j], P[2 * j + 1]
    printf "%s-bandwidth-frac = %.4g\n", WORD[j], P[2 * j + 2]
  }
  printf "inter-latency-s = %.4g # misc/hardware_specs.csv p2p_latency_s\n", \
    NIC_LATENCY
  printf "inter-bandwidth-frac = %.4g # law inter-node, high\n", NIC_FRAC
  print "source = comm_nccl/aic_nccl_intranode.csv, alltoall of 2 GPUs"
  printf "rows = %d\n", N
  print "range = 256 B..256 MiB in a node; across nodes not measured"
  print_errors("whole sizes left out, 3 folds; inside a node")
}
END {
  WORD[0] = "low"; WORD[1] = "mid"; WORD[2] = "high"
  collective("all-reduce", "all_reduce", 2, "all_reduce")
  HIGH_FRAC = C[8, 6]
  collective("all-gather", "all_gather", 1, "all_gather")
  BROADCAST = C[8, 6]
  collective("reduce-scatter", "reduce_scatter", 1, "reduce_scatter")
  collective("all-to-all", "alltoall", 1, "alltoall")
  # A pipelined ring moves a broadcast's bytes once over every link, as an
  # all-gather of n ranks moves (n - 1) / n of them: the same bus bandwidth.
  collective("broadcast", "all_gather", 1, \
    "all_gather: no broadcast was measured; the same ring")
  across()
  NIC_FRAC = P[6]
  if (EXCHANGES) # A100: not measured; the law of the others holds
    exchanges()
  send()
  print "[law realloc]"
  printf "step-s = %.4g # law send, inter-latency-s\n", NIC_LATENCY
  printf "intra-bandwidth-frac = %.4g # law broadcast, 8 GPUs\n", BROADCAST
  printf "inter-bandwidth-frac = %.4g # law inter-node, high\n", NIC_FRAC
  print "source = laws send, broadcast and inter-node of this profile"
  print "rows = 0"
  print "range = not measured as such"
  print "error-median = -"
  print "error-p90 = -"
  print ""
}
