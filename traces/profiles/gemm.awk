# The law of a GEMM (estimator/gemm.h has the formula), fitted.
# -v SMS PEAK BW E LAW FILE SCALE; rows: m,n,k,latency_us.
# Folds: whole columns of n and of k, every fourth.  A row is left out if its
# n or its k is.
BEGIN { FS = "," }
FNR > 1 {
  N++
  M[N] = $1; COLS[N] = $2; K[N] = $3; T[N] = $4 * 1e-6
  if (!($2 in RANK_N)) { RANK_N[$2] = 0; VALUE_N[++N_N] = $2 + 0 }
  if (!($3 in RANK_K)) { RANK_K[$3] = 0; VALUE_K[++N_K] = $3 + 0 }
}
function left_out(i, f) {
  return RANK_N[COLS[i]] % 4 == f - 1 || RANK_K[K[i]] % 4 == f - 1
}
function predict(i,   c, best, e, j, tiles, s, w, x, mem) {
  best = 1e30
  e = P[2]
  for (j = 0; j < 3; j++) {
    tiles = ceil(M[i] / TILE_M[j]) * ceil(COLS[i] / TILE_N[j])
    s = w = 1
    if (tiles < SMS) {
      s = max(1, min(SMS / tiles, K[i] / P[3]))
    } else {
      x = tiles / SMS
      w = x + P[4] * (ceil(x) - x)
    }
    c = w * 2 * TILE_M[j] * TILE_N[j] * (K[i] / s + P[5]) / (PEAK / SMS * e)
    best = min(best, c)
    e *= P[6]
  }
  mem = (M[i] * K[i] + COLS[i] * K[i] + M[i] * COLS[i]) * E / (BW * P[7])
  return P[1] + max(best, mem) + P[8] * min(best, mem)
}
END {
  sort(VALUE_N, N_N)
  sort(VALUE_K, N_K)
  for (j = 1; j <= N_N; j++)
    RANK_N[VALUE_N[j]] = j
  for (j = 1; j <= N_K; j++)
    RANK_K[VALUE_K[j]] = j
  # The CTA tile of the large cuBLAS kernels on sm_80 and sm_90 and its halves.
  TILE_M[0] = 128; TILE_N[0] = 256
  TILE_M[1] = 128; TILE_N[1] = 128
  TILE_M[2] = 64;  TILE_N[2] = 64
  NP = 8
  P[1] = 3e-6; LOW[1] = 1e-6; HIGH[1] = 2e-5
  P[2] = 0.8;  LOW[2] = 0.2;  HIGH[2] = 1
  P[3] = 1024; LOW[3] = 32;   HIGH[3] = 8192
  P[4] = 0.5;  LOW[4] = 0.01; HIGH[4] = 1
  P[5] = 128;  LOW[5] = 1;    HIGH[5] = 2000
  P[6] = 0.9;  LOW[6] = 0.3;  HIGH[6] = 1
  P[7] = 0.8;  LOW[7] = 0.2;  HIGH[7] = 1
  P[8] = 0.2;  LOW[8] = 0.01; HIGH[8] = 1
  cross(4, 10, 16)
  printf "[law %s]\n", LAW
  printf "sms = %d # NVIDIA's architecture whitepaper of the GPU\n", SMS
  print "tile-m = 128 # cuBLAS's large CTA tile"
  print "tile-n = 256"
  printf "floor-s = %.4g\n", P[1]
  printf "peak-frac = %.4g\n", P[2]
  printf "split-k = %.4g\n", P[3]
  printf "wave-frac = %.4g\n", P[4]
  printf "ramp-k = %.4g\n", P[5]
  printf "small-tile-frac = %.4g\n", P[6]
  printf "bandwidth-frac = %.4g\n", P[7]
  printf "serial-frac = %.4g\n", P[8]
  printf "source = %s, robust fit; short runs at full clocks, warm\n", FILE
  printf "rows = %d\n", N
  print "range = m 1..32768; n, k 128..65536; batch 1"
  print_errors("whole columns of n and of k left out, 4 folds")
}
