## A unit test is one line in check_programs; its source is %D%/NAME.c, its
## main() comes from %D%/check_main.h.  If it has further sources:
##   tests_check_NAME_SOURCES = %D%/check_NAME.c %D%/helper.c %D%/helper.h
check_programs =
nccl_double = %D%/nccl_double.c %D%/nccl_double.h \
	%D%/nccl_double_comm.c %D%/nccl_double_enrol.c \
	%D%/nccl_double_far.c %D%/nccl_double_far.h \
	%D%/nccl_double_impl.h %D%/nccl_double_link.c \
	%D%/nccl_double_link.h %D%/nccl_double_op.c \
	%D%/nccl_double_stream.c
check_programs += %D%/check_allocation
check_programs += %D%/check_arena
check_programs += %D%/check_batcher
check_programs += %D%/check_breakdown
check_programs += %D%/check_cache
check_programs += %D%/check_calibrate
check_programs += %D%/check_calibrate_gpu
tests_check_calibrate_gpu_SOURCES = %D%/check_calibrate_gpu.c \
	%D%/idle_experts.c %D%/idle_gpu.c %D%/idle_gpu.h \
	%D%/idle_time.c %D%/idle_time.h \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_loop_gpu
tests_check_loop_gpu_SOURCES = %D%/check_loop_gpu.c \
	%D%/idle_experts.c %D%/idle_gpu.c %D%/idle_gpu.h \
	%D%/idle_time.c %D%/idle_time.h \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_calibrate_merge
tests_check_calibrate_merge_SOURCES = %D%/check_calibrate_merge.c \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_calibrate_trace
tests_check_calibrate_trace_SOURCES = %D%/check_calibrate_trace.c \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_checkpoint
tests_check_checkpoint_SOURCES = %D%/check_checkpoint.c $(run_fixture)
check_programs += %D%/check_checkpoint_fuzz
tests_check_checkpoint_fuzz_SOURCES = %D%/check_checkpoint_fuzz.c $(run_fixture)
check_programs += %D%/check_fault
tests_check_fault_SOURCES = %D%/check_fault.c $(run_fixture)
check_programs += %D%/check_chrome
check_programs += %D%/check_cluster
check_programs += %D%/check_collective
check_programs += %D%/check_collective_fit
tests_check_collective_fit_SOURCES = %D%/check_collective_fit.c \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_collective_grid
check_programs += %D%/check_collective_model
check_programs += %D%/check_collective_probe
tests_check_collective_probe_SOURCES = %D%/check_collective_probe.c \
	$(nccl_double)
check_programs += %D%/check_collective_world
check_programs += %D%/check_comm
check_programs += %D%/check_comm_nccl
tests_check_comm_nccl_SOURCES = %D%/check_comm_nccl.c %D%/nccl_peers.h \
	$(nccl_double)
check_programs += %D%/check_compare
check_programs += %D%/check_context
tests_check_context_SOURCES = %D%/check_context.c %D%/plan_text.c \
	%D%/plan_text.h $(estimator_fixture)
check_programs += %D%/check_contest
check_programs += %D%/check_core
check_programs += %D%/check_cost
check_programs += %D%/check_cpu_attention
check_programs += %D%/check_cpu_gemm
check_programs += %D%/check_cpu_pointwise
check_programs += %D%/check_cpu_policy
check_programs += %D%/check_decode
check_programs += %D%/check_cuda_library
check_programs += %D%/check_data_transfer
tests_check_data_transfer_SOURCES = %D%/check_data_transfer.c \
	%D%/plan_text.c %D%/plan_text.h %D%/search_case.h
check_programs += %D%/check_decode_tasks
tests_check_decode_tasks_SOURCES = %D%/check_decode_tasks.c \
	%D%/plan_text.c %D%/plan_text.h %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_host_link
tests_check_host_link_SOURCES = %D%/check_host_link.c \
	%D%/plan_text.c %D%/plan_text.h %D%/search_case.h
check_programs += %D%/check_dot
tests_check_calibrate_SOURCES = %D%/check_calibrate.c %D%/profile_text.c \
	%D%/profile_text.h
tests_check_dot_SOURCES = %D%/check_dot.c %D%/plan_text.c %D%/plan_text.h
check_programs += %D%/check_error
check_programs += %D%/check_estimator
check_programs += %D%/check_evaluate
check_programs += %D%/check_evaluate_work
check_programs += %D%/check_exact
check_programs += %D%/check_exact_bound
check_programs += %D%/check_explain
check_programs += %D%/check_explain_memory
check_programs += %D%/check_flows
tests_check_flows_SOURCES = %D%/check_flows.c %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_flows_inside
tests_check_flows_inside_SOURCES = %D%/check_flows_inside.c %D%/plan_text.c \
	%D%/plan_text.h %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_flows_decode
tests_check_flows_decode_SOURCES = %D%/check_flows_decode.c %D%/plan_text.c \
	%D%/plan_text.h %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_exec_ops
tests_check_exec_ops_SOURCES = %D%/check_exec_ops.c %D%/torch_fixture.c \
	%D%/torch_fixture.h
check_programs += %D%/check_exec_torch
tests_check_exec_torch_SOURCES = %D%/check_exec_torch.c %D%/torch_fixture.c \
	%D%/torch_fixture.h
EXTRA_DIST += %D%/torch/classic.py %D%/torch/fixtures.py %D%/data/torch
EXTRA_DIST += %D%/torch/checkpoints.py %D%/data/checkpoints
EXTRA_DIST += %D%/transformers.sh
check_programs += %D%/check_families
tests_check_families_SOURCES = %D%/check_families.c $(run_fixture)
EXTRA_DIST += %D%/data/run-mixtral.json %D%/data/run-qwen3.json
EXTRA_DIST += %D%/data/run-qwen3-moe.json %D%/data/run-gpt2.json
EXTRA_DIST += %D%/data/run-bloom.json
check_programs += %D%/check_flash
check_programs += %D%/check_fold
tests_check_fold_SOURCES = %D%/check_fold.c %D%/fold_compare.c \
	%D%/fold_compare.h %D%/plan_text.c %D%/plan_text.h
check_programs += %D%/check_folder
check_programs += %D%/check_folds
check_programs += %D%/check_forms
tests_check_forms_SOURCES = %D%/check_forms.c %D%/plan_text.c %D%/plan_text.h
check_programs += %D%/check_fuzz_change
check_programs += %D%/check_fuzz_length
check_programs += %D%/check_fuzz_mesh
check_programs += %D%/check_fuzz_model
check_programs += %D%/check_fuzz_op
check_programs += %D%/check_fuzz_replay
check_programs += %D%/check_fuzz_safetensors
check_programs += %D%/check_fuzz_system
check_programs += %D%/check_fuzz_texts
check_programs += %D%/check_fuzz_trace
check_programs += %D%/check_fuzz_units
check_programs += %D%/check_gather
check_programs += %D%/check_graph
tests_check_graph_SOURCES = %D%/check_graph.c %D%/plan_text.c %D%/plan_text.h
check_programs += %D%/check_grid
check_programs += %D%/check_hash
check_programs += %D%/check_host
check_programs += %D%/check_interfere
check_programs += %D%/check_kernels
check_programs += %D%/check_jobs
check_programs += %D%/check_kinds
tests_check_kinds_SOURCES = %D%/check_kinds.c %D%/search_case.h
check_programs += %D%/check_keyfile
check_programs += %D%/check_kineto
EXTRA_DIST += %D%/data/kineto %D%/torch/kineto.py
check_programs += %D%/check_layout
check_programs += %D%/check_learn
tests_check_learn_SOURCES = %D%/check_learn.c $(run_fixture)
check_programs += %D%/check_length
check_programs += %D%/check_length_group
check_programs += %D%/check_link_graph
tests_check_link_graph_SOURCES = %D%/check_link_graph.c %D%/plan_text.c \
	%D%/plan_text.h %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_machine
check_programs += %D%/check_mcmc
check_programs += %D%/check_measured_beside
tests_check_measured_beside_SOURCES = %D%/check_measured_beside.c \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_measured_trace
check_programs += %D%/check_memory
tests_check_memory_SOURCES = %D%/check_memory.c %D%/plan_text.c %D%/plan_text.h
check_programs += %D%/check_memory_generate
tests_check_memory_generate_SOURCES = %D%/check_memory_generate.c
check_programs += %D%/check_model
check_programs += %D%/check_neighbour
check_programs += %D%/check_nccl_far
tests_check_nccl_far_SOURCES = %D%/check_nccl_far.c $(nccl_double)
check_programs += %D%/check_nccl_leave
tests_check_nccl_leave_SOURCES = %D%/check_nccl_leave.c $(nccl_double)
check_programs += %D%/check_nccl_log
check_programs += %D%/check_network
check_programs += %D%/check_network_dense
check_programs += %D%/check_network_hub
check_programs += %D%/check_model_bad
check_programs += %D%/check_moe
check_programs += %D%/check_moe_plan
tests_check_moe_plan_SOURCES = %D%/check_moe_plan.c %D%/plan_text.c \
	%D%/plan_text.h %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_kind_sets
tests_check_kind_sets_SOURCES = %D%/check_kind_sets.c %D%/search_case.h
check_programs += %D%/check_node_set
tests_check_node_set_SOURCES = %D%/check_node_set.c %D%/search_case.h
check_programs += %D%/check_op
check_programs += %D%/check_op_replay
tests_check_op_replay_SOURCES = %D%/check_op_replay.c %D%/plan_text.c %D%/plan_text.h \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_overlap
check_programs += %D%/check_partition
check_programs += %D%/check_pins
check_programs += %D%/check_relabel
check_programs += %D%/check_mini_batches
check_programs += %D%/check_pipeline
tests_check_pipeline_SOURCES = %D%/check_pipeline.c %D%/plan_text.c %D%/plan_text.h
check_programs += %D%/check_plan
check_programs += %D%/check_plan_bad
check_programs += %D%/check_plan_batching
tests_check_plan_batching_SOURCES = %D%/check_plan_batching.c %D%/plan_text.c \
	%D%/plan_text.h %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_plan_write
check_programs += %D%/check_rollout_serve
tests_check_rollout_serve_SOURCES = %D%/check_rollout_serve.c \
	%D%/plan_text.c %D%/plan_text.h %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_rollout
tests_check_rollout_SOURCES = %D%/check_rollout.c %D%/plan_text.c \
	%D%/plan_text.h %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_profile
check_programs += %D%/check_queue
check_programs += %D%/check_real
tests_check_real_SOURCES = %D%/check_real.c %D%/plan_text.c \
	%D%/plan_text.h $(estimator_fixture)
check_programs += %D%/check_realloc
check_programs += %D%/check_realloc_plans
check_programs += %D%/check_realloc_random
check_programs += %D%/check_record
tests_check_record_SOURCES = %D%/check_record.c %D%/plan_text.c %D%/plan_text.h
check_programs += %D%/check_reload
check_programs += %D%/check_replay
tests_check_replay_SOURCES = %D%/check_replay.c %D%/plan_text.c %D%/plan_text.h
check_programs += %D%/check_residency
tests_check_residency_SOURCES = %D%/check_residency.c %D%/plan_text.c %D%/plan_text.h %D%/residency_sample.h
check_programs += %D%/check_residency_bad
tests_check_residency_bad_SOURCES = %D%/check_residency_bad.c %D%/plan_text.c %D%/plan_text.h %D%/residency_sample.h
check_programs += %D%/check_residual
check_programs += %D%/check_rl_step
check_programs += %D%/check_rng
check_programs += %D%/check_roofline
check_programs += %D%/check_reuse
tests_check_reuse_SOURCES = %D%/check_reuse.c $(estimator_fixture)
check_programs += %D%/check_reshard
tests_check_reshard_SOURCES = %D%/check_reshard.c %D%/reshard_cases.h
check_programs += %D%/check_shards
tests_check_shards_SOURCES = %D%/check_shards.c $(run_fixture)
check_programs += %D%/check_layouts
tests_check_layouts_SOURCES = %D%/check_layouts.c $(run_fixture)
check_programs += %D%/check_places
check_programs += %D%/check_rounds
tests_check_rounds_SOURCES = %D%/check_rounds.c %D%/reshard_cases.h \
	$(nccl_double)
check_programs += %D%/check_run
run_fixture = %D%/run_fixture.c %D%/run_fixture.h %D%/plan_text.c %D%/plan_text.h
check_programs += %D%/check_run_clip
tests_check_run_clip_SOURCES = %D%/check_run_clip.c $(run_fixture)
check_programs += %D%/check_run_memory
tests_check_run_memory_SOURCES = %D%/check_run_memory.c $(run_fixture)
check_programs += %D%/check_run_nccl
tests_check_run_nccl_SOURCES = %D%/check_run_nccl.c $(run_fixture) \
	$(nccl_double)
check_programs += %D%/check_run_random
tests_check_run_random_SOURCES = %D%/check_run_random.c $(run_fixture)
tests_check_run_SOURCES = %D%/check_run.c $(run_fixture)
EXTRA_DIST += %D%/data/measured.txt
EXTRA_DIST += %D%/data/run.json %D%/data/run-tied.json
EXTRA_DIST += %D%/data/run-memory.json
EXTRA_DIST += %D%/data/run-wide.json %D%/data/run-device.json
EXTRA_DIST += %D%/data/run-device-moe.json %D%/data/run-device-bloom.json
EXTRA_DIST += %D%/data/run-device-gpt2.json
check_programs += %D%/check_same_ops
tests_check_same_ops_SOURCES = %D%/check_same_ops.c $(run_fixture) \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_safetensors
check_programs += %D%/check_sample
check_programs += %D%/check_schedule
check_programs += %D%/check_search_full
tests_check_search_full_SOURCES = %D%/check_search_full.c %D%/search_case.h
check_programs += %D%/check_sensitivity
tests_check_sensitivity_SOURCES = %D%/check_sensitivity.c \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_serve
check_programs += %D%/check_serve_pipe
tests_check_serve_pipe_SOURCES = %D%/check_serve_pipe.c %D%/plan_text.c \
	%D%/plan_text.h %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_service
tests_check_service_SOURCES = %D%/check_service.c %D%/service_law.h
check_programs += %D%/check_service_pipe
tests_check_service_pipe_SOURCES = %D%/check_service_pipe.c %D%/service_law.h
check_programs += %D%/check_serving_table
check_programs += %D%/check_setting
check_programs += %D%/check_sim
check_programs += %D%/check_sizing
check_programs += %D%/check_step_jitter
tests_check_step_jitter_SOURCES = %D%/check_step_jitter.c %D%/plan_text.c \
	%D%/plan_text.h %D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_slab_plan
tests_check_slab_plan_SOURCES = %D%/check_slab_plan.c %D%/plan_text.c \
	%D%/plan_text.h
check_programs += %D%/check_space
check_programs += %D%/check_splits
check_programs += %D%/check_spread
tests_check_spread_SOURCES = %D%/check_spread.c %D%/study_sample.h
check_programs += %D%/check_strategy
check_programs += %D%/check_study
tests_check_study_SOURCES = %D%/check_study.c %D%/study_sample.h
check_programs += %D%/check_sum
check_programs += %D%/check_system
check_programs += %D%/check_table
check_programs += %D%/check_team
check_programs += %D%/check_text
check_programs += %D%/check_tied
tests_check_tied_SOURCES = %D%/check_tied.c %D%/plan_text.c %D%/plan_text.h \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_timeline
check_programs += %D%/check_trace
check_programs += %D%/check_train
check_programs += %D%/check_lora
tests_check_lora_SOURCES = %D%/check_lora.c %D%/plan_text.c %D%/plan_text.h
check_programs += %D%/check_trips
tests_check_trips_SOURCES = %D%/check_trips.c %D%/plan_text.c %D%/plan_text.h \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_turns
tests_check_turns_SOURCES = %D%/check_turns.c %D%/turns_reference.h %D%/plan_text.c %D%/plan_text.h \
	%D%/profile_text.c %D%/profile_text.h
check_programs += %D%/check_transfer
tests_check_transfer_SOURCES = %D%/check_transfer.c %D%/profile_text.c \
	%D%/profile_text.h
check_programs += %D%/check_units
check_programs += %D%/check_validate
check_programs += %D%/check_validate_infer
check_programs += %D%/check_weights
check_programs += %D%/check_workload
check_programs += %D%/check_workload_bad
check_programs += %D%/check_zero
tests_check_zero_SOURCES = %D%/check_zero.c %D%/plan_text.c %D%/plan_text.h \
	%D%/profile_text.c %D%/profile_text.h

## check_fuzz_KIND replays tests/corpus/KIND through tests/fuzz_KIND.c.
tests_check_fuzz_change_SOURCES = %D%/check_fuzz.c %D%/fuzz_change.c
tests_check_fuzz_length_SOURCES = %D%/check_fuzz.c %D%/fuzz_length.c
tests_check_fuzz_mesh_SOURCES = %D%/check_fuzz.c %D%/fuzz_mesh.c
tests_check_fuzz_model_SOURCES = %D%/check_fuzz.c %D%/fuzz_model.c
tests_check_fuzz_op_SOURCES = %D%/check_fuzz.c %D%/fuzz_op.c
tests_check_fuzz_replay_SOURCES = %D%/check_fuzz.c %D%/fuzz_replay.c
tests_check_fuzz_safetensors_SOURCES = %D%/check_fuzz.c \
	%D%/fuzz_safetensors.c
tests_check_fuzz_texts_SOURCES = %D%/check_fuzz.c %D%/fuzz_texts.c
tests_check_fuzz_system_SOURCES = %D%/check_fuzz.c %D%/fuzz_system.c
tests_check_fuzz_trace_SOURCES = %D%/check_fuzz.c %D%/fuzz_trace.c
tests_check_fuzz_units_SOURCES = %D%/check_fuzz.c %D%/fuzz_units.c

tests_check_layout_SOURCES = %D%/check_layout.c %D%/realloc_oracle.c \
	%D%/realloc_oracle.h %D%/realloc_random.c
tests_check_realloc_random_SOURCES = %D%/check_realloc_random.c \
	%D%/realloc_oracle.c %D%/realloc_oracle.h %D%/realloc_random.c
tests_check_realloc_SOURCES = %D%/check_realloc.c %D%/realloc_oracle.c \
	%D%/realloc_oracle.h %D%/realloc_random.c

## Shell tests speak TAP on stdout; they find the tree in $srcdir, $builddir.
shell_tests =
shell_tests += %D%/cli.sh
shell_tests += %D%/cli_errors.sh
shell_tests += %D%/cli_import.sh
EXTRA_DIST += %D%/data/import
shell_tests += %D%/cli_new.sh
shell_tests += %D%/cli_plan.sh
shell_tests += %D%/cli_search.sh
shell_tests += %D%/cli_study.sh
shell_tests += %D%/cli_backend.sh
shell_tests += %D%/cli_emulated.sh
shell_tests += %D%/cli_nccl.sh
shell_tests += %D%/cli_calibrate.sh
shell_tests += %D%/cli_report.sh
shell_tests += %D%/cli_run.sh
shell_tests += %D%/cli_simulate.sh
shell_tests += %D%/cli_heldout.sh
shell_tests += %D%/cli_validate.sh
shell_tests += %D%/cli_algorithms.sh
shell_tests += %D%/cli_workloads.sh
EXTRA_DIST += %D%/cli_impl.sh
shell_tests += %D%/fingerprints.sh
shell_tests += %D%/floors.sh
shell_tests += %D%/floors_selftest.sh
shell_tests += %D%/installed.sh
shell_tests += %D%/cli_topology.sh
shell_tests += %D%/pages.sh
shell_tests += %D%/pictures.sh
shell_tests += %D%/demo.sh
shell_tests += %D%/readme.sh
shell_tests += %D%/tutorial.sh
EXTRA_DIST += %D%/page_impl.sh
shell_tests += %D%/mpi.sh
shell_tests += %D%/mpi_collectives.sh
shell_tests += %D%/mpi_hosts.sh
shell_tests += %D%/mpi_nccl.sh
shell_tests += %D%/mpi_study.sh
shell_tests += %D%/srun.sh
EXTRA_DIST += %D%/mpi_impl.sh
shell_tests += %D%/needed.sh
shell_tests += %D%/node.sh
shell_tests += %D%/profiles.sh

## Tests that want a GPU and are skipped without one (`make check-gpu`).
gpu_tests =
gpu_tests += %D%/gpu.sh

## What scripts start as processes.
mpi_programs =
if HAVE_MPI
mpi_programs += %D%/mpi-nudge
mpi_programs += %D%/reallot-cores-mpi
endif
tests_reallot_cores_mpi_SOURCES = $(reallot_SOURCES) %D%/nccl_cores.c \
	$(nccl_double)
tests_reallot_cores_mpi_LDADD = libexec_mpi.a $(ra_ldadd) $(MPI_LIBS)
tests_mpi_nudge_SOURCES = %D%/mpi_nudge.c
tests_mpi_nudge_LDADD = libexec_mpi.a $(ra_ldadd) $(MPI_LIBS)

if HAVE_CHECK
check_PROGRAMS = $(check_programs) $(gpu_programs) $(emulated_programs) \
	$(mpi_programs)
TESTS = $(check_programs) $(gpu_programs) $(shell_tests) $(gpu_tests)
else
check_PROGRAMS = $(emulated_programs) $(mpi_programs)
TESTS = $(shell_tests) $(gpu_tests)
endif

dist_check_SCRIPTS = $(shell_tests) $(gpu_tests)
EXTRA_DIST += %D%/fuzz.sh
noinst_HEADERS = %D%/check_main.h %D%/new_path.h
noinst_HEADERS += %D%/check_points.h
noinst_HEADERS += %D%/check_edit.h
noinst_HEADERS += %D%/cpu_random.h
noinst_HEADERS += %D%/decode_reference.h
noinst_HEADERS += %D%/rollout_case.h
noinst_HEADERS += %D%/rollout_reference.h
noinst_HEADERS += %D%/rollout_serve_reference.h
noinst_HEADERS += %D%/check_corpus.h
noinst_HEADERS += %D%/fuzz.h
noinst_HEADERS += %D%/plan_sample.h
noinst_HEADERS += %D%/plan_run.h %D%/zero_run.h
noinst_HEADERS += %D%/workload_sample.h
noinst_HEADERS += %D%/batcher_reference.h
noinst_HEADERS += %D%/graph_builder.h

LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/build-aux/tap-driver.sh
TEST_EXTENSIONS = .sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
## A script's own exit status is for people; what counts is its plan.
SH_LOG_DRIVER_FLAGS = --ignore-exit

## Messages are compared, so the locale is fixed; a GLib warning is a crash.
## The time limit of a Check test (4 s) is for a quick machine: tenfold here.
AM_TESTS_ENVIRONMENT = \
	RA_DATA_PATH='$(abs_top_srcdir)/share:$(abs_top_srcdir)/traces'; \
	G_DEBUG=fatal-warnings; LC_ALL=C; \
	srcdir='$(abs_top_srcdir)'; builddir='$(abs_top_builddir)'; \
	CK_TIMEOUT_MULTIPLIER="$${CK_TIMEOUT_MULTIPLIER:-60}"; \
	RA_HAVE_CUDA='$(RA_HAVE_CUDA)'; RA_REQUIRE_GPU='$(RA_REQUIRE_GPU)'; \
	RA_PROGRAMS='$(bin_PROGRAMS) $(noinst_PROGRAMS) $(check_programs) $(gpu_programs)'; \
	export RA_DATA_PATH G_DEBUG LC_ALL srcdir builddir \
	  CK_TIMEOUT_MULTIPLIER RA_HAVE_CUDA RA_REQUIRE_GPU RA_PROGRAMS; \
	$(RA_TESTS_ENVIRONMENT)

## Outputs that tests/cli*.sh expect to the letter.
EXTRA_DIST += %D%/golden/fingerprints.tsv
EXTRA_DIST += %D%/golden/help.txt
EXTRA_DIST += %D%/golden/inspect-model.json
EXTRA_DIST += %D%/golden/inspect-model.text
EXTRA_DIST += %D%/golden/inspect-model.tsv
EXTRA_DIST += %D%/golden/inspect-workload.json
EXTRA_DIST += %D%/golden/inspect-workload.text
EXTRA_DIST += %D%/golden/inspect-workload.tsv
EXTRA_DIST += %D%/golden/megatron.plan
EXTRA_DIST += %D%/golden/simulate-columns.txt

## Inputs of the model reader that a fuzzer or a person found; good-* are read,
## the others refused.
EXTRA_DIST += %D%/data/tiny.json
EXTRA_DIST += %D%/data/topologies/README
EXTRA_DIST += %D%/data/topologies/h100-8-cloud.xml
EXTRA_DIST += %D%/data/topologies/h200-8.topo
EXTRA_DIST += %D%/data/nccl-tests/README
EXTRA_DIST += %D%/data/nccl-tests/all_reduce_perf-16.log
EXTRA_DIST += %D%/data/nccl-tests/all_reduce_perf-8.log
EXTRA_DIST += %D%/corpus/model/comment.json
EXTRA_DIST += %D%/corpus/model/deep.json
EXTRA_DIST += %D%/corpus/model/empty.json
EXTRA_DIST += %D%/corpus/model/escaped-key.json
EXTRA_DIST += %D%/corpus/model/good-mixtral.json
EXTRA_DIST += %D%/corpus/model/good-mpt.json
EXTRA_DIST += %D%/corpus/model/good-nested-keys.json
EXTRA_DIST += %D%/corpus/model/good-qwen3-moe.json
EXTRA_DIST += %D%/corpus/model/good-shape.json
EXTRA_DIST += %D%/corpus/model/heads.json
EXTRA_DIST += %D%/corpus/model/huge.json
EXTRA_DIST += %D%/corpus/model/nul.json
EXTRA_DIST += %D%/corpus/model/twice.json
EXTRA_DIST += %D%/corpus/model/unknown-type.json
EXTRA_DIST += %D%/corpus/model/wide-number.json

tests_check_keyfile_SOURCES = %D%/check_keyfile.c %D%/fuzz_keyfile.c
EXTRA_DIST += %D%/corpus/.gitattributes
EXTRA_DIST += %D%/corpus/keyfile

## Workloads, clusters and plans: good-* are read, the others refused.
tests_check_cluster_SOURCES = %D%/check_cluster.c %D%/fuzz_cluster.c
tests_check_plan_bad_SOURCES = %D%/check_plan_bad.c %D%/fuzz_plan.c
tests_check_workload_bad_SOURCES = %D%/check_workload_bad.c \
	%D%/fuzz_workload.c
EXTRA_DIST += %D%/corpus/change
EXTRA_DIST += %D%/corpus/safetensors
EXTRA_DIST += %D%/corpus/cluster
EXTRA_DIST += %D%/corpus/length
EXTRA_DIST += %D%/corpus/mesh
EXTRA_DIST += %D%/corpus/op
EXTRA_DIST += %D%/corpus/replay
EXTRA_DIST += %D%/corpus/system
EXTRA_DIST += %D%/corpus/texts
EXTRA_DIST += %D%/corpus/units
EXTRA_DIST += %D%/corpus/plan
EXTRA_DIST += %D%/corpus/workload

## The same for traces.
EXTRA_DIST += %D%/corpus/trace/columns.tsv
EXTRA_DIST += %D%/corpus/trace/cut.tsv
EXTRA_DIST += %D%/corpus/trace/empty-op.tsv
EXTRA_DIST += %D%/corpus/trace/good-million.tsv
EXTRA_DIST += %D%/corpus/trace/good-rows.tsv
EXTRA_DIST += %D%/corpus/trace/head-control.tsv
EXTRA_DIST += %D%/corpus/trace/huge.tsv
EXTRA_DIST += %D%/corpus/trace/ranks.tsv
EXTRA_DIST += %D%/corpus/trace/version.tsv

## Profiles and what an estimator makes of them.
estimator_fixture = %D%/estimator_fixture.c %D%/estimator_fixture.h \
	%D%/profile_text.c %D%/profile_text.h
tests_check_collective_SOURCES = %D%/check_collective.c $(estimator_fixture)
tests_check_collective_model_SOURCES = %D%/check_collective_model.c \
	$(estimator_fixture)
tests_check_core_SOURCES = %D%/check_core.c $(estimator_fixture)
tests_check_cost_SOURCES = %D%/check_cost.c $(estimator_fixture)
tests_check_flash_SOURCES = %D%/check_flash.c $(estimator_fixture)
tests_check_overlap_SOURCES = %D%/check_overlap.c $(estimator_fixture)
tests_check_serve_SOURCES = %D%/check_serve.c $(estimator_fixture)
tests_check_residual_SOURCES = %D%/check_residual.c $(estimator_fixture)
tests_check_gather_SOURCES = %D%/check_gather.c $(estimator_fixture)
tests_check_estimator_SOURCES = %D%/check_estimator.c $(estimator_fixture)
tests_check_roofline_SOURCES = %D%/check_roofline.c $(estimator_fixture)
tests_check_rl_step_SOURCES = %D%/check_rl_step.c
tests_check_system_SOURCES = %D%/check_system.c $(estimator_fixture)
tests_check_reload_SOURCES = %D%/check_reload.c %D%/plan_text.c %D%/plan_text.h \
	$(estimator_fixture)
tests_check_profile_SOURCES = %D%/check_profile.c %D%/fuzz_profile.c \
	%D%/profile_text.c %D%/profile_text.h
EXTRA_DIST += %D%/corpus/profile
