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
dist_clusters_DATA =
dist_workloads_DATA =
dist_plans_DATA =
dist_studies_DATA =
## traces/profiles/NAME.profile
dist_profiles_DATA =
## %D%/man/reallot.1 and %D%/completion/reallot
dist_man1_MANS =
dist_bashcomp_DATA =
