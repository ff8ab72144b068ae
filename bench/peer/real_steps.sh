#!/bin/sh
# real_steps.sh REALLOT DATA: prints docs/real-steps.md: errors of published RL
# steps by set and by source.
set -eu
reallot=$1 data=$2
tsv=$("$reallot" validate "$data" --level='rl-steps*' --worst=1000 --format=tsv)
cat <<'END'
# RL steps beside their predictions

Made by `bench/peer/real_steps.sh build/reallot DATA > docs/real-steps.md`; not edited. Rows of `rl_steps` are measured
configurations of other people's runs (`rl_steps/SOURCE.md` of the data has where from). Each becomes a plan as
`reallot import` makes one, with the mean lengths of the row; hosts' rewards are given. Errors are predicted /
measured - 1. verl's constants are fitted on `iseekyan_dapo7b`, with Megatron on `iseekyan_grpo7b` too, with FSDP on
`verl_pr2049_vl7b` too (`bench/steps`), that of adapters on `verldata_qwen25_3b_lora` and `_32b_lora`: their rows are
among these; those of generation with vLLM's V0 engine on `diqiu_qwen2_7b_gpg_megatron`. NeMo-RL's of generation are
fitted on `nemo_rl_issue959` and `nemo_rl_v03_blog`, its others on a row of `rlhf_steps`.
Prompts with images have those tokens that are not text (`study/validate/step_recipe.c`).
Rows of agents that mend repositories have turns with tools between them, as many and as long as 111 tasks of another
agent had (`AGENT_CALLS`); the row gives none of it.
A share of responses, counted in the log of `diqiu_qwen2_7b_gpg_megatron`, runs on to the limit of every row that has
one.

## Sets

| set | rows | median | 90th percentile | bias |
|---|---|---|---|---|
END
printf '%s\n' "$tsv" | awk -F'\t' '
  function percent(x) { return x == "-" ? x : sprintf("%.0f %%", 100 * x) }
  /^#/ { in_scores = $0 == "# scores"; head = 1; next }
  in_scores && head { for (i = 1; i <= NF; i++) at[$i] = i; head = 0; next }
  in_scores && NF && $(at["level"]) != "rl-steps-parts" {
    printf "| `%s` | %s | %s | %s | %s |\n", $(at["level"]), $(at["rows"]),
      percent($(at["median_frac"])), percent($(at["p90_frac"])),
      percent($(at["bias_frac"]))
  }'
cat <<'END'

## Sources

Whole steps; their phases stand in the sets above.

| source | rows | step, median error | worst |
|---|---|---|---|
END
printf '%s\n' "$tsv" | awk -F'\t' '
  /^#/ { in_worst = $0 == "# worst"; head = 1; next }
  in_worst && head { for (i = 1; i <= NF; i++) at[$i] = i; head = 0; next }
  in_worst && $(at["level"]) ~ /^rl-steps-(dense|moe|async|partial|index)$/ {
    split($(at["row"]), words, ":")
    print words[1] "\t" $(at["error_frac"])
  }' | sort | awk -F'\t' '
  function flush(  i, j, t, m) {
    if (n == 0) return
    for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++)
      if (size[j] < size[i]) { t = size[i]; size[i] = size[j]; size[j] = t }
    m = n % 2 ? size[(n + 1) / 2] : (size[n / 2] + size[n / 2 + 1]) / 2
    printf "| `%s` | %d | %.0f %% | %+.0f %% |\n", name, n, 100 * m, 100 * worst
  }
  $1 != name { flush(); name = $1; n = 0; worst = 0 }
  { e = $2 < 0 ? -$2 : $2; size[++n] = e
    if (e > (worst < 0 ? -worst : worst)) worst = $2 }
  END { flush() }'
cat <<'END'

## Rows that are not predicted

| rows | reason |
|---|---|
END
printf '%s\n' "$tsv" | awk -F'\t' '
  /^#/ { in_notes = $0 == "# notes"; next }
  in_notes && match($0, /not predicted: /) {
    reason = substr($0, RSTART + RLENGTH)
    sub(/, nearest: .*/, "", reason); sub(/; --model .*/, "", reason)
    sub(/, expected a config.*/, "", reason); sub(/^model of the actor: /, "", reason)
    sub(/ \(inferred.*/, "", reason)
    n[reason]++
  }
  END { for (r in n) printf "%d\t%s\n", n[r], r }' | sort -k1,1nr -k2 |
  awk -F'\t' '{ printf "| %s | %s |\n", $1, $2 }'
