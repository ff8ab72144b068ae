# The laws of memory-bound ops (estimator/memory_op.h has the formula).
# -v GPU=h100|a100 BW; files: kernels_vidur/models.csv, then GPU_MODEL.csv.
# The bytes of an op are those of ra_op_bytes() in graph/op.c, FP16.
# Folds: (model, tp) together, four of them.
BEGIN { FS = "," }
FILENAME ~ /models\.csv$/ {
  if (FNR > 1 && $1 == GPU) {
    HEADS[$2] = $4; KV[$2] = $5; WIDTH[$2] = $6; FFN[$2] = $7
  }
  next
}
FNR == 1 {
  model = FILENAME
  sub(/.*\//, "", model)
  sub(/^[^_]*_/, "", model)
  sub(/\.csv$/, "", model)
  next
}
{
  if (!((model, $1) in GROUP))
    GROUP[model, $1] = ++N_GROUP
  g = GROUP[model, $1]
  w = WIDTH[model]
  row("norm", g, 4 * $2 * w, $4)
  row("norm", g, 4 * $2 * w, $8)
  row("rope", g, 4 * $2 * (HEADS[model] + KV[model]) / $1 * w / HEADS[model], $6)
  row("activation", g, 6 * $2 * FFN[model] / $1, $10)
  row("add", g, 6 * $2 * w, $12)
  row("embedding", g, 4 * $2 * w + 4 * $2, $3)
}
function row(op, g, bytes, us) {
  if (us + 0 <= 0)
    return
  ALL++
  OP[ALL] = op; G[ALL] = g; B[ALL] = bytes; US[ALL] = us
}
function left_out(i, f) { return FOLD[i] % 4 == f - 1 }
function predict(i) { return max(P[1], P[2] + X[i] / (BW * P[3])) }
function law(name, pattern, text,   i) {
  N = 0
  for (i = 1; i <= ALL; i++)
    if (OP[i] ~ pattern) {
      N++
      T[N] = US[i] * 1e-6; X[N] = B[i]; FOLD[N] = G[i]
    }
  NP = 3
  P[1] = 3e-6; LOW[1] = 1e-7; HIGH[1] = 1e-4
  P[2] = 1e-6; LOW[2] = 1e-8; HIGH[2] = 1e-4
  P[3] = 0.6;  LOW[3] = 0.05; HIGH[3] = 1.5
  cross(4, 2, 16)
  printf "[law memory.%s]\n", name
  printf "floor-s = %.4g\n", P[1]
  printf "base-s = %.4g\n", P[2]
  printf "bandwidth-frac = %.4g\n", P[3]
  printf "source = kernels_vidur/%s_*.csv, %s; robust fit, resolution 1 us\n", \
    GPU, text
  printf "rows = %d\n", N
  print "range = tokens 1..4096; width 4096..8192"
  print_errors("whole (model, tp) left out, 4 folds")
}
END {
  law("norm", "^norm$", "both norms (RMSNorm)")
  law("rope", "^rope$", "attn_rope")
  law("activation", "^activation$", "mlp_act (SwiGLU)")
  law("add", "^add$", "add, partly from L2")
  law("embedding", "^embedding$", "emb")
  law("other", "^(norm|rope|activation|add)$", \
    "pooled: stands for ops that nobody measured")
}
