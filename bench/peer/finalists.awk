# FOUND FAMILY of the tables of a search (--format=tsv): seconds an iteration of
# the best plan that was found and of the best strategy, of the finalists that
# fit, with the same samples; - : none.  Equal plans are one finalist: a
# strategy that was found again counts for both.
BEGIN { FS = "\t" }
/^# / { on = $0 ~ /^# plans/ ? 1 : $0 ~ /^# finalists/ ? 2 : 0
  head = on; next }
on && head { for (i = 1; i <= NF; i++) at[$i] = i; head = 0; next }
on == 1 && NF > 1 { plan[$1] = $at["iteration_s"]
  if ($1 ~ /^search/) again[$at["iteration_s"]] = 1 }
on == 2 && $at["note"] !~ /fit/ && NF > 1 {
  s = $at["iteration_s"]
  if (again[plan[$1]] && (!found || s < found)) found = s
  if ($1 !~ /^search/ && (!family || s < family)) family = s
}
END { print found ? found : "-", family ? family : "-" }
