# Robust fit shared by the laws of this folder (POSIX awk).
#
# The file that follows it on the command line defines predict(i), seconds of
# row i under the parameters P[1..NP], and left_out(i, f), whether fold f (from
# 1) leaves row i out.  The fit minimises the mean of
# min(|ln(predicted / measured)|, 1), which large errors cannot dominate, by
# coordinate descent: every parameter in turn is scaled up and down, with
# steps that shrink.  No random numbers: the same rows give the same answer.
#
# T[i]             measured seconds of row i, 1 <= i <= N
# LOW[j], HIGH[j]  bounds of parameter j; LOW = HIGH pins it

function ceil(x, y) { y = int(x); return y < x ? y + 1 : y }
function max(a, b) { return a > b ? a : b }
function min(a, b) { return a < b ? a : b }
function log2(x) { return log(x) / log(2) }

# Error of row i: |ln(predicted / measured)|.
function row_error(i, e) {
  e = log(predict(i) / T[i])
  return e < 0 ? -e : e
}

function loss(out, stride, i, s, n) {
  s = n = 0
  for (i = 1; i <= N; i += stride)
    if (out == 0 || !left_out(i, out)) {
      s += min(row_error(i), 1)
      n++
    }
  return n ? s / n : 0
}

# Fits on the rows of no fold `out`, every stride-th one.
function fit(out, stride, sweeps, j, s, f, best, here, old) {
  f = 1.5
  best = loss(out, stride)
  for (s = 1; s <= sweeps; s++) {
    for (j = 1; j <= NP; j++) {
      if (LOW[j] == HIGH[j])
        continue
      old = P[j]
      P[j] = min(old * f, HIGH[j])
      here = loss(out, stride)
      if (here < best) {
        best = here
        continue
      }
      P[j] = max(old / f, LOW[j])
      here = loss(out, stride)
      if (here < best)
        best = here
      else
        P[j] = old
    }
    f = 1 + (f - 1) * 0.8
  }
  return best
}

# Heap sort of A[1..n] in place, ascending.
function sort(A, n, i, j, k, x) {
  for (k = int(n / 2); k >= 1; k--)
    sift(A, k, n)
  for (i = n; i > 1; i--) {
    x = A[1]; A[1] = A[i]; A[i] = x
    sift(A, 1, i - 1)
  }
}
function sift(A, k, n, j, x) {
  x = A[k]
  while ((j = 2 * k) <= n) {
    if (j < n && A[j] < A[j + 1])
      j++
    if (x >= A[j])
      break
    A[k] = A[j]
    k = j
  }
  A[k] = x
}
# The q-quantile of A[1..n], which it sorts.
function quantile(A, n, q) {
  sort(A, n)
  return A[max(1, min(n, ceil(q * n)))]
}

# Relative error |predicted / measured - 1| of row i.
function relative(i, e) {
  e = predict(i) / T[i] - 1
  return e < 0 ? -e : e
}

# Fits with each fold left out in turn, collects the errors of what was left
# out, then fits on all.  Sets ERROR_MEDIAN, ERROR_P90; leaves P fitted.
function cross(n_folds, stride, sweeps, f, i, j, n, E, START) {
  for (j = 1; j <= NP; j++)
    START[j] = P[j]
  n = 0
  # A transferred profile has no errors of its own: nothing to leave out.
  for (f = 1; f <= n_folds && !DERIVED; f++) {
    for (j = 1; j <= NP; j++)
      P[j] = START[j]
    fit(f, stride, sweeps)
    for (i = 1; i <= N; i++)
      if (left_out(i, f))
        E[++n] = relative(i)
  }
  ERROR_MEDIAN = n ? quantile(E, n, 0.5) : 0
  ERROR_P90 = n ? quantile(E, n, 0.9) : 0
  for (j = 1; j <= NP; j++)
    P[j] = START[j]
  fit(0, stride, sweeps)
}

# The lines every law ends with.
function print_errors(how) {
  if (DERIVED) {
    print "held-out = no: transferred by data sheet"
    print "error-median = -"
    print "error-p90 = -"
  } else {
    printf "held-out = %s\n", how
    printf "error-median = %.3f\n", ERROR_MEDIAN
    printf "error-p90 = %.3f\n", ERROR_P90
  }
  print ""
}
