# The laws of attention (estimator/attention.h has the formulas), fitted.
# -v KIND=prefill|decode SMS PEAK BW FILE;
# rows: batch,length,q_heads,kv_heads,head_dim,latency_us, BF16.
# Folds: every third value of q_heads.
BEGIN { FS = "," }
FNR > 1 {
  N++
  S[N] = $1; L[N] = $2; QH[N] = $3; KH[N] = $4; D[N] = $5; T[N] = $6 * 1e-6
  if (!($3 in RANK)) { RANK[$3] = 0; VALUE[++N_V] = $3 + 0 }
}
function left_out(i, f) { return RANK[QH[i]] % 3 == f - 1 }
function prefill(i,   e, work, tile, mem) {
  e = PEAK * P[2] * D[i] / (D[i] + P[4])
  work = 4 * S[i] * L[i] * ((L[i] + 1) / 2 + P[3]) * QH[i] * D[i] / e
  tile = 4 * P[5] * (L[i] + P[3]) * D[i] * SMS / e
  mem = 4 * S[i] * L[i] * (QH[i] + KH[i]) * D[i] / (BW * P[6]) + \
        S[i] * QH[i] * P[7]
  return P[1] + max(max(work, tile), mem)
}
function decode(i,   q) {
  q = S[i] * (QH[i] * P[3] + P[4])
  return q + max(P[1], P[2] + 4 * S[i] * L[i] * KH[i] * D[i] / (BW * P[5]))
}
function predict(i) { return KIND == "prefill" ? prefill(i) : decode(i) }
END {
  sort(VALUE, N_V)
  for (j = 1; j <= N_V; j++)
    RANK[VALUE[j]] = j
  if (KIND == "prefill") {
    NP = 7
    P[1] = 1e-5; LOW[1] = 1e-6;  HIGH[1] = 1e-4
    P[2] = 0.7;  LOW[2] = 0.2;   HIGH[2] = 1
    P[3] = 200;  LOW[3] = 1;     HIGH[3] = 2000
    P[4] = 20;   LOW[4] = 0.5;   HIGH[4] = 200
    P[5] = 64;   LOW[5] = 1;     HIGH[5] = 512
    P[6] = 0.6;  LOW[6] = 0.1;   HIGH[6] = 1
    P[7] = 1e-9; LOW[7] = 1e-12; HIGH[7] = 1e-6
    cross(3, 3, 16)
    print "[law attention]"
    printf "sms = %d # NVIDIA's architecture whitepaper of the GPU\n", SMS
    printf "floor-s = %.4g\n", P[1]
    printf "peak-frac = %.4g\n", P[2]
    printf "ramp-tokens = %.4g\n", P[3]
    printf "head-dim-half = %.4g\n", P[4]
    printf "tile-tokens = %.4g\n", P[5]
    printf "bandwidth-frac = %.4g\n", P[6]
    printf "head-s = %.4g\n", P[7]
    range = "batch 1..256; length 1..16384; heads 1..64; head_dim 64, 128"
  } else {
    NP = 5
    P[1] = 1e-5; LOW[1] = 1e-6;  HIGH[1] = 1e-4
    P[2] = 5e-6; LOW[2] = 1e-7;  HIGH[2] = 1e-4
    P[3] = 1e-9; LOW[3] = 1e-12; HIGH[3] = 1e-6
    P[4] = 1e-8; LOW[4] = 1e-12; HIGH[4] = 1e-6
    P[5] = 0.8;  LOW[5] = 0.1;   HIGH[5] = 1
    cross(3, 3, 16)
    print "[law decode-attention]"
    printf "floor-s = %.4g\n", P[1]
    printf "base-s = %.4g\n", P[2]
    printf "head-s = %.4g\n", P[3]
    printf "sequence-s = %.4g\n", P[4]
    printf "bandwidth-frac = %.4g\n", P[5]
    range = "batch 1..2048; length 2..32768; heads 1..64; head_dim 64, 128"
  }
  printf "source = %s, robust fit\n", FILE
  printf "rows = %d\n", N
  print "range = " range
  print_errors("whole values of q_heads left out, 3 folds")
}
