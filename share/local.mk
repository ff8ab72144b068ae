## What is installed beside the programs.  One file a line, for example
##   dist_models_DATA += %D%/models/llama-3-70b.json
## A file that is not named here is neither installed nor in the tarball;
## tests/installed.sh finds one that was forgotten.
modelsdir = $(pkgdatadir)/models
clustersdir = $(pkgdatadir)/clusters
workloadsdir = $(pkgdatadir)/workloads
plansdir = $(pkgdatadir)/plans
studiesdir = $(pkgdatadir)/studies
profilesdir = $(pkgdatadir)/profiles
bashcompdir = $(datadir)/bash-completion/completions
dist_models_DATA =
dist_models_DATA += %D%/models/bloom-176b.json
dist_models_DATA += %D%/models/codellama-34b.json
dist_models_DATA += %D%/models/gpt2-xl.json
dist_models_DATA += %D%/models/gpt2.json
dist_models_DATA += %D%/models/llama-2-13b.json
dist_models_DATA += %D%/models/llama-2-70b.json
dist_models_DATA += %D%/models/llama-2-7b.json
dist_models_DATA += %D%/models/llama-3-70b.json
dist_models_DATA += %D%/models/llama-3-8b.json
dist_models_DATA += %D%/models/llama-3.1-405b.json
dist_models_DATA += %D%/models/llama-3.2-1b.json
dist_models_DATA += %D%/models/mistral-7b.json
dist_models_DATA += %D%/models/mixtral-8x7b.json
dist_models_DATA += %D%/models/mpt-7b.json
dist_models_DATA += %D%/models/nemotron-4-15b.json
dist_models_DATA += %D%/models/nemotron-4-340b.json
dist_models_DATA += %D%/models/qwen2.5-1.5b.json
dist_models_DATA += %D%/models/qwen2.5-32b.json
dist_models_DATA += %D%/models/qwen2.5-72b.json
dist_models_DATA += %D%/models/qwen2.5-7b.json
dist_models_DATA += %D%/models/qwen3-235b-a22b.json
dist_models_DATA += %D%/models/qwen3-30b-a3b.json
dist_models_DATA += %D%/models/qwen3-32b.json
dist_models_DATA += %D%/models/qwen3-8b.json
dist_clusters_DATA =
dist_workloads_DATA =
dist_plans_DATA =
dist_studies_DATA =
## traces/profiles/NAME.profile
dist_profiles_DATA =
## %D%/man/reallot.1 and %D%/completion/reallot
dist_man1_MANS =
dist_bashcomp_DATA =
EXTRA_DIST += %D%/models/README.md
