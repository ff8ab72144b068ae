## A unit test is one line in check_programs; its source is %D%/NAME.c, its
## main() comes from %D%/support/check_main.h.  If it has further sources:
##   tests_check_NAME_SOURCES = %D%/check_NAME.c %D%/helper.c %D%/helper.h
check_programs =
nccl_double = %D%/double/nccl_double.c %D%/double/nccl_double.h \
	%D%/double/nccl_double_comm.c %D%/double/nccl_double_enrol.c \
	%D%/double/nccl_double_far.c %D%/double/nccl_double_far.h \
	%D%/double/nccl_double_impl.h %D%/double/nccl_double_link.c \
	%D%/double/nccl_double_link.h %D%/double/nccl_double_op.c \
	%D%/double/nccl_double_stream.c
check_programs += %D%/base/check_allocation
check_programs += %D%/base/check_arena
check_programs += %D%/base/check_content_cache
check_programs += %D%/graph/check_batcher
check_programs += %D%/sim/check_breakdown
check_programs += %D%/exec/check_cache
check_programs += %D%/estimator/check_calibrate
check_programs += %D%/study/check_calibrate_gpu
tests_study_check_calibrate_gpu_SOURCES = %D%/study/check_calibrate_gpu.c \
	%D%/device/idle_experts.c %D%/device/idle_gpu.c %D%/device/idle_gpu.h \
	%D%/device/idle_time.c %D%/device/idle_time.h \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/study/check_loop_gpu
tests_study_check_loop_gpu_SOURCES = %D%/study/check_loop_gpu.c \
	%D%/device/idle_experts.c %D%/device/idle_gpu.c %D%/device/idle_gpu.h \
	%D%/device/idle_time.c %D%/device/idle_time.h \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/estimator/check_calibrate_merge
tests_estimator_check_calibrate_merge_SOURCES = %D%/estimator/check_calibrate_merge.c \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/estimator/check_calibrate_trace
tests_estimator_check_calibrate_trace_SOURCES = %D%/estimator/check_calibrate_trace.c \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/exec/check_checkpoint
tests_exec_check_checkpoint_SOURCES = %D%/exec/check_checkpoint.c $(run_fixture)
check_programs += %D%/exec/check_checkpoint_fuzz
tests_exec_check_checkpoint_fuzz_SOURCES = %D%/exec/check_checkpoint_fuzz.c $(run_fixture)
check_programs += %D%/exec/check_fault
tests_exec_check_fault_SOURCES = %D%/exec/check_fault.c $(run_fixture)
check_programs += %D%/traces/check_chrome
check_programs += %D%/graph/check_cluster
check_programs += %D%/estimator/check_collective
check_programs += %D%/estimator/check_collective_fit
tests_estimator_check_collective_fit_SOURCES = %D%/estimator/check_collective_fit.c \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/exec/check_collective_grid
check_programs += %D%/estimator/check_collective_model
check_programs += %D%/double/check_collective_probe
tests_double_check_collective_probe_SOURCES = %D%/double/check_collective_probe.c \
	$(nccl_double)
check_programs += %D%/double/check_collective_world
check_programs += %D%/exec/check_comm
check_programs += %D%/double/check_comm_nccl
tests_double_check_comm_nccl_SOURCES = %D%/double/check_comm_nccl.c %D%/double/nccl_peers.h \
	$(nccl_double)
check_programs += %D%/study/check_compare
check_programs += %D%/graph/check_context
tests_graph_check_context_SOURCES = %D%/graph/check_context.c %D%/support/plan_text.c \
	%D%/support/plan_text.h $(estimator_fixture)
check_programs += %D%/study/check_contest
check_programs += %D%/estimator/check_core
check_programs += %D%/sim/check_cost
check_programs += %D%/kernels/check_cpu_attention
check_programs += %D%/kernels/check_cpu_gemm
check_programs += %D%/kernels/check_cpu_pointwise
check_programs += %D%/kernels/check_cpu_policy
check_programs += %D%/sim/check_decode
check_programs += %D%/device/check_cuda_library
check_programs += %D%/graph/check_data_transfer
tests_graph_check_data_transfer_SOURCES = %D%/graph/check_data_transfer.c \
	%D%/support/plan_text.c %D%/support/plan_text.h %D%/support/search_case.h
check_programs += %D%/sim/check_decode_tasks
tests_sim_check_decode_tasks_SOURCES = %D%/sim/check_decode_tasks.c \
	%D%/support/plan_text.c %D%/support/plan_text.h %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/graph/check_host_link
tests_graph_check_host_link_SOURCES = %D%/graph/check_host_link.c \
	%D%/support/plan_text.c %D%/support/plan_text.h %D%/support/search_case.h
check_programs += %D%/graph/check_dot
tests_estimator_check_calibrate_SOURCES = %D%/estimator/check_calibrate.c %D%/support/profile_text.c \
	%D%/support/profile_text.h
tests_graph_check_dot_SOURCES = %D%/graph/check_dot.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/base/check_error
check_programs += %D%/estimator/check_drafts
check_programs += %D%/estimator/check_estimator
check_programs += %D%/estimator/check_experts
check_programs += %D%/search/check_common
tests_search_check_common_SOURCES = %D%/search/check_common.c %D%/support/search_case.h
check_programs += %D%/search/check_cost_store
tests_search_check_cost_store_SOURCES = %D%/search/check_cost_store.c %D%/support/search_case.h
check_programs += %D%/search/check_evaluate
check_programs += %D%/search/check_evaluate_work
check_programs += %D%/search/check_plan_point
check_programs += %D%/search/check_exact
check_programs += %D%/search/check_exact_bound
check_programs += %D%/study/check_explain
check_programs += %D%/study/check_explain_memory
check_programs += %D%/sim/check_flows
tests_sim_check_flows_SOURCES = %D%/sim/check_flows.c %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/sim/check_flows_inside
tests_sim_check_flows_inside_SOURCES = %D%/sim/check_flows_inside.c %D%/support/plan_text.c \
	%D%/support/plan_text.h %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/sim/check_flows_decode
tests_sim_check_flows_decode_SOURCES = %D%/sim/check_flows_decode.c %D%/support/plan_text.c \
	%D%/support/plan_text.h %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/exec/check_exec_ops
tests_exec_check_exec_ops_SOURCES = %D%/exec/check_exec_ops.c %D%/support/torch_fixture.c \
	%D%/support/torch_fixture.h
check_programs += %D%/exec/check_exec_torch
tests_exec_check_exec_torch_SOURCES = %D%/exec/check_exec_torch.c %D%/support/torch_fixture.c \
	%D%/support/torch_fixture.h
EXTRA_DIST += %D%/support/README.md %D%/cli/seats.tsv
EXTRA_DIST += %D%/base/README.md %D%/graph/README.md %D%/traces/README.md
EXTRA_DIST += %D%/estimator/README.md %D%/kernels/README.md %D%/sim/README.md
EXTRA_DIST += %D%/exec/README.md %D%/search/README.md %D%/study/README.md
EXTRA_DIST += %D%/mpi/README.md %D%/fuzz/README.md
EXTRA_DIST += %D%/device/README.md %D%/double/README.md
EXTRA_DIST += %D%/torch/classic.py %D%/torch/fixtures.py %D%/data/torch
EXTRA_DIST += %D%/torch/families.py %D%/torch/rope.py
EXTRA_DIST += %D%/torch/checkpoints.py %D%/data/checkpoints
EXTRA_DIST += %D%/exec/transformers.sh
check_programs += %D%/exec/check_families
tests_exec_check_families_SOURCES = %D%/exec/check_families.c $(run_fixture)
EXTRA_DIST += %D%/data/run-mixtral.json %D%/data/run-qwen3.json
EXTRA_DIST += %D%/data/run-ministral.json %D%/data/run-gpt-oss.json
EXTRA_DIST += %D%/data/run-deepseek-v3.json %D%/data/run-latent.json
EXTRA_DIST += %D%/data/run-qwen2-moe.json %D%/data/run-glm4-moe.json
EXTRA_DIST += %D%/data/run-qwen3-moe.json %D%/data/run-gpt2.json
EXTRA_DIST += %D%/data/run-bloom.json
check_programs += %D%/estimator/check_flash
check_programs += %D%/graph/check_fold
tests_graph_check_fold_SOURCES = %D%/graph/check_fold.c %D%/support/fold_compare.c \
	%D%/support/fold_compare.h %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/base/check_folder
check_programs += %D%/estimator/check_folds
check_programs += %D%/graph/check_forms
tests_graph_check_forms_SOURCES = %D%/graph/check_forms.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/fuzz/check_fuzz_change
check_programs += %D%/fuzz/check_fuzz_length
check_programs += %D%/fuzz/check_fuzz_mesh
check_programs += %D%/fuzz/check_fuzz_model
check_programs += %D%/fuzz/check_fuzz_model_hub
check_programs += %D%/fuzz/check_fuzz_op
check_programs += %D%/fuzz/check_fuzz_replay
check_programs += %D%/fuzz/check_fuzz_safetensors
check_programs += %D%/fuzz/check_fuzz_shell
check_programs += %D%/fuzz/check_fuzz_step_log
check_programs += %D%/fuzz/check_fuzz_system
check_programs += %D%/fuzz/check_fuzz_text_data
check_programs += %D%/fuzz/check_fuzz_trace
check_programs += %D%/fuzz/check_fuzz_units
check_programs += %D%/fuzz/check_fuzz_yaml
check_programs += %D%/estimator/check_gather
check_programs += %D%/graph/check_graph
tests_graph_check_graph_SOURCES = %D%/graph/check_graph.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/traces/check_grid
check_programs += %D%/base/check_hash
check_programs += %D%/study/check_host
check_programs += %D%/sim/check_interfere
check_programs += %D%/kernels/check_kernels
check_programs += %D%/base/check_jobs
check_programs += %D%/estimator/check_kinds
tests_estimator_check_kinds_SOURCES = %D%/estimator/check_kinds.c %D%/support/search_case.h
check_programs += %D%/base/check_keyfile
check_programs += %D%/base/check_line_diff
check_programs += %D%/traces/check_kineto
EXTRA_DIST += %D%/data/search_today.tsv
EXTRA_DIST += %D%/data/kineto %D%/torch/kineto.py
check_programs += %D%/graph/check_layout
check_programs += %D%/exec/check_learn
tests_exec_check_learn_SOURCES = %D%/exec/check_learn.c $(run_fixture)
check_programs += %D%/graph/check_length
check_programs += %D%/graph/check_length_group
check_programs += %D%/graph/check_link_graph
tests_graph_check_link_graph_SOURCES = %D%/graph/check_link_graph.c %D%/support/plan_text.c \
	%D%/support/plan_text.h %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/study/check_machine
check_programs += %D%/search/check_mcmc
check_programs += %D%/traces/check_measured_overlap
tests_traces_check_measured_overlap_SOURCES = %D%/traces/check_measured_overlap.c \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/traces/check_measured_trace
check_programs += %D%/graph/check_memory
tests_graph_check_memory_SOURCES = %D%/graph/check_memory.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/graph/check_host_memory
tests_graph_check_host_memory_SOURCES = %D%/graph/check_host_memory.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/graph/check_memory_habits
tests_graph_check_memory_habits_SOURCES = %D%/graph/check_memory_habits.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/graph/check_memory_generate
tests_graph_check_memory_generate_SOURCES = %D%/graph/check_memory_generate.c
check_programs += %D%/graph/check_model
check_programs += %D%/study/check_neighbour
check_programs += %D%/double/check_nccl_far
tests_double_check_nccl_far_SOURCES = %D%/double/check_nccl_far.c $(nccl_double)
check_programs += %D%/double/check_nccl_leave
tests_double_check_nccl_leave_SOURCES = %D%/double/check_nccl_leave.c $(nccl_double)
check_programs += %D%/traces/check_nccl_log
check_programs += %D%/sim/check_network
check_programs += %D%/sim/check_network_dense
check_programs += %D%/sim/check_network_hub
check_programs += %D%/graph/check_op_mixer
check_programs += %D%/graph/check_vision
check_programs += %D%/graph/check_model_families
check_programs += %D%/graph/check_model_bad
check_programs += %D%/graph/check_model_find
check_programs += %D%/graph/check_model_text
check_programs += %D%/graph/check_routing
check_programs += %D%/graph/check_moe
check_programs += %D%/graph/check_moe_plan
tests_graph_check_moe_plan_SOURCES = %D%/graph/check_moe_plan.c %D%/support/plan_text.c \
	%D%/support/plan_text.h %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/search/check_kind_sets
tests_search_check_kind_sets_SOURCES = %D%/search/check_kind_sets.c %D%/support/search_case.h
check_programs += %D%/search/check_node_set
tests_search_check_node_set_SOURCES = %D%/search/check_node_set.c %D%/support/search_case.h
check_programs += %D%/graph/check_op
check_programs += %D%/sim/check_op_replay
tests_sim_check_op_replay_SOURCES = %D%/sim/check_op_replay.c %D%/support/plan_text.c %D%/support/plan_text.h \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/estimator/check_overlap
check_programs += %D%/base/check_partition
check_programs += %D%/study/check_pins
check_programs += %D%/base/check_quote
check_programs += %D%/graph/check_relabel
check_programs += %D%/graph/check_mini_batches
check_programs += %D%/graph/check_pipeline
tests_graph_check_pipeline_SOURCES = %D%/graph/check_pipeline.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/graph/check_fp8
tests_graph_check_fp8_SOURCES = %D%/graph/check_fp8.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/graph/check_precision
tests_graph_check_precision_SOURCES = %D%/graph/check_precision.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/graph/check_plan
check_programs += %D%/graph/check_plan_bad
check_programs += %D%/graph/check_plan_batching
tests_graph_check_plan_batching_SOURCES = %D%/graph/check_plan_batching.c %D%/support/plan_text.c \
	%D%/support/plan_text.h %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/graph/check_plan_write
check_programs += %D%/graph/check_rollout_serve
tests_graph_check_rollout_serve_SOURCES = %D%/graph/check_rollout_serve.c \
	%D%/support/plan_text.c %D%/support/plan_text.h %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/graph/check_rollout
tests_graph_check_rollout_SOURCES = %D%/graph/check_rollout.c %D%/support/plan_text.c \
	%D%/support/plan_text.h %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/traces/check_profile
check_programs += %D%/sim/check_queue
check_programs += %D%/estimator/check_real
tests_estimator_check_real_SOURCES = %D%/estimator/check_real.c %D%/support/plan_text.c \
	%D%/support/plan_text.h $(estimator_fixture)
check_programs += %D%/graph/check_realloc
check_programs += %D%/graph/check_realloc_plans
check_programs += %D%/graph/check_realloc_random
check_programs += %D%/sim/check_record
tests_sim_check_record_SOURCES = %D%/sim/check_record.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/graph/check_reload
check_programs += %D%/study/check_replay
check_programs += %D%/study/check_response_length
tests_study_check_replay_SOURCES = %D%/study/check_replay.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/graph/check_residency
tests_graph_check_residency_SOURCES = %D%/graph/check_residency.c %D%/support/plan_text.c %D%/support/plan_text.h %D%/support/residency_sample.h
check_programs += %D%/graph/check_residency_bad
tests_graph_check_residency_bad_SOURCES = %D%/graph/check_residency_bad.c %D%/support/plan_text.c %D%/support/plan_text.h %D%/support/residency_sample.h
check_programs += %D%/estimator/check_residual
check_programs += %D%/study/check_rl_step
check_programs += %D%/study/check_step_log
check_programs += %D%/study/check_step_row
check_programs += %D%/base/check_rng
check_programs += %D%/traces/check_roofline
check_programs += %D%/estimator/check_reuse
tests_estimator_check_reuse_SOURCES = %D%/estimator/check_reuse.c $(estimator_fixture)
check_programs += %D%/estimator/check_sibling
tests_estimator_check_sibling_SOURCES = %D%/estimator/check_sibling.c \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/exec/check_reshard
tests_exec_check_reshard_SOURCES = %D%/exec/check_reshard.c %D%/support/reshard_cases.h
check_programs += %D%/exec/check_shards
tests_exec_check_shards_SOURCES = %D%/exec/check_shards.c $(run_fixture)
check_programs += %D%/exec/check_layouts
tests_exec_check_layouts_SOURCES = %D%/exec/check_layouts.c $(run_fixture)
check_programs += %D%/exec/check_places
check_programs += %D%/exec/check_rounds
tests_exec_check_rounds_SOURCES = %D%/exec/check_rounds.c %D%/support/reshard_cases.h \
	$(nccl_double)
check_programs += %D%/exec/check_run
run_fixture = %D%/support/run_fixture.c %D%/support/run_fixture.h %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/exec/check_run_clip
tests_exec_check_run_clip_SOURCES = %D%/exec/check_run_clip.c $(run_fixture)
check_programs += %D%/exec/check_run_memory
tests_exec_check_run_memory_SOURCES = %D%/exec/check_run_memory.c $(run_fixture)
check_programs += %D%/double/check_run_nccl
tests_double_check_run_nccl_SOURCES = %D%/double/check_run_nccl.c $(run_fixture) \
	$(nccl_double)
check_programs += %D%/exec/check_run_random
tests_exec_check_run_random_SOURCES = %D%/exec/check_run_random.c $(run_fixture)
tests_exec_check_run_SOURCES = %D%/exec/check_run.c $(run_fixture)
EXTRA_DIST += %D%/data/measured.txt
EXTRA_DIST += %D%/data/run.json %D%/data/run-tied.json
EXTRA_DIST += %D%/data/run-memory.json
EXTRA_DIST += %D%/data/run-wide.json %D%/data/run-device.json
EXTRA_DIST += %D%/data/run-device-moe.json %D%/data/run-device-bloom.json
EXTRA_DIST += %D%/data/run-device-gpt2.json
check_programs += %D%/exec/check_same_ops
tests_exec_check_same_ops_SOURCES = %D%/exec/check_same_ops.c $(run_fixture) \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/exec/check_safetensors
check_programs += %D%/kernels/check_sample
check_programs += %D%/graph/check_schedule
check_programs += %D%/search/check_search_full
tests_search_check_search_full_SOURCES = %D%/search/check_search_full.c %D%/support/search_case.h
check_programs += %D%/study/check_sensitivity
tests_study_check_sensitivity_SOURCES = %D%/study/check_sensitivity.c \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/sim/check_serve
check_programs += %D%/sim/check_serve_pipe
tests_sim_check_serve_pipe_SOURCES = %D%/sim/check_serve_pipe.c %D%/support/plan_text.c \
	%D%/support/plan_text.h %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/sim/check_service
tests_sim_check_service_SOURCES = %D%/sim/check_service.c %D%/support/service_law.h
check_programs += %D%/sim/check_service_pipe
tests_sim_check_service_pipe_SOURCES = %D%/sim/check_service_pipe.c %D%/support/service_law.h
check_programs += %D%/traces/check_serving_table
check_programs += %D%/study/check_meaning
check_programs += %D%/study/check_compose
check_programs += %D%/study/check_setting
check_programs += %D%/study/check_shell
check_programs += %D%/sim/check_sim
check_programs += %D%/study/check_sizing
check_programs += %D%/sim/check_step_jitter
tests_sim_check_step_jitter_SOURCES = %D%/sim/check_step_jitter.c %D%/support/plan_text.c \
	%D%/support/plan_text.h %D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/graph/check_slab_plan
tests_graph_check_slab_plan_SOURCES = %D%/graph/check_slab_plan.c %D%/support/plan_text.c \
	%D%/support/plan_text.h
check_programs += %D%/study/check_odds
check_programs += %D%/study/check_sayable
check_programs += %D%/search/check_space
check_programs += %D%/exec/check_comm_groups
check_programs += %D%/study/check_spread
tests_study_check_spread_SOURCES = %D%/study/check_spread.c %D%/support/study_sample.h
check_programs += %D%/search/check_strategy
check_programs += %D%/study/check_study
tests_study_check_study_SOURCES = %D%/study/check_study.c %D%/support/study_sample.h
check_programs += %D%/base/check_sum
check_programs += %D%/traces/check_system
check_programs += %D%/base/check_table
check_programs += %D%/exec/check_team
check_programs += %D%/base/check_text
check_programs += %D%/sim/check_tied
tests_sim_check_tied_SOURCES = %D%/sim/check_tied.c %D%/support/plan_text.c %D%/support/plan_text.h \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/traces/check_timeline
check_programs += %D%/traces/check_trace
check_programs += %D%/study/check_train
check_programs += %D%/graph/check_lora
tests_graph_check_lora_SOURCES = %D%/graph/check_lora.c %D%/support/plan_text.c %D%/support/plan_text.h
check_programs += %D%/graph/check_trips
tests_graph_check_trips_SOURCES = %D%/graph/check_trips.c %D%/support/plan_text.c %D%/support/plan_text.h \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/graph/check_turns
tests_graph_check_turns_SOURCES = %D%/graph/check_turns.c %D%/support/turns_reference.h %D%/support/plan_text.c %D%/support/plan_text.h \
	%D%/support/profile_text.c %D%/support/profile_text.h
check_programs += %D%/estimator/check_roof
check_programs += %D%/estimator/check_transfer
tests_estimator_check_transfer_SOURCES = %D%/estimator/check_transfer.c %D%/support/profile_text.c \
	%D%/support/profile_text.h
check_programs += %D%/base/check_units
check_programs += %D%/study/check_validate
check_programs += %D%/study/check_validate_infer
check_programs += %D%/exec/check_rope
check_programs += %D%/exec/check_weights
check_programs += %D%/graph/check_workload
check_programs += %D%/graph/check_workload_bad
check_programs += %D%/graph/check_zero
tests_graph_check_zero_SOURCES = %D%/graph/check_zero.c %D%/support/plan_text.c %D%/support/plan_text.h \
	%D%/support/profile_text.c %D%/support/profile_text.h

## check_fuzz_KIND replays tests/corpus/KIND through tests/fuzz/fuzz_KIND.c.
tests_fuzz_check_fuzz_change_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_change.c
tests_fuzz_check_fuzz_length_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_length.c
tests_fuzz_check_fuzz_mesh_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_mesh.c
tests_fuzz_check_fuzz_model_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_model.c
tests_fuzz_check_fuzz_model_hub_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_model_hub.c
tests_fuzz_check_fuzz_op_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_op.c
tests_fuzz_check_fuzz_replay_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_replay.c
tests_fuzz_check_fuzz_safetensors_SOURCES = %D%/fuzz/check_fuzz.c \
	%D%/fuzz/fuzz_safetensors.c
tests_fuzz_check_fuzz_shell_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_shell.c
EXTRA_DIST += %D%/corpus/shell
tests_fuzz_check_fuzz_text_data_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_text_data.c
tests_fuzz_check_fuzz_step_log_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_step_log.c
tests_fuzz_check_fuzz_system_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_system.c
tests_fuzz_check_fuzz_trace_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_trace.c
tests_fuzz_check_fuzz_units_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_units.c
tests_fuzz_check_fuzz_yaml_SOURCES = %D%/fuzz/check_fuzz.c %D%/fuzz/fuzz_yaml.c

tests_graph_check_layout_SOURCES = %D%/graph/check_layout.c %D%/support/realloc_oracle.c \
	%D%/support/realloc_oracle.h %D%/support/realloc_random.c
tests_graph_check_realloc_random_SOURCES = %D%/graph/check_realloc_random.c \
	%D%/support/realloc_oracle.c %D%/support/realloc_oracle.h %D%/support/realloc_random.c
tests_graph_check_realloc_SOURCES = %D%/graph/check_realloc.c %D%/support/realloc_oracle.c \
	%D%/support/realloc_oracle.h %D%/support/realloc_random.c

## Shell tests speak TAP on stdout; they find the tree in $srcdir, $builddir.
shell_tests =
shell_tests += %D%/cli/cli.sh
shell_tests += %D%/cli/cli_errors.sh
shell_tests += %D%/cli/cli_frameworks.sh
shell_tests += %D%/cli/cli_round_trip.sh
shell_tests += %D%/cli/cli_goals.sh
shell_tests += %D%/cli/cli_pairs.sh
shell_tests += %D%/cli/cli_import.sh
shell_tests += %D%/cli/cli_json.sh
shell_tests += %D%/cli/cli_mixers.sh
shell_tests += %D%/cli/cli_models.sh
EXTRA_DIST += %D%/data/import
shell_tests += %D%/cli/cli_nemo_rl.sh
shell_tests += %D%/cli/cli_new.sh
shell_tests += %D%/cli/cli_openrlhf.sh
shell_tests += %D%/cli/cli_quoting.sh
shell_tests += %D%/cli/cli_seats.sh
shell_tests += %D%/cli/cli_plan.sh
shell_tests += %D%/cli/cli_search.sh
shell_tests += %D%/cli/cli_study.sh
shell_tests += %D%/cli/cli_backend.sh
shell_tests += %D%/cli/cli_emulated.sh
shell_tests += %D%/cli/cli_nccl.sh
shell_tests += %D%/cli/cli_calibrate.sh
shell_tests += %D%/cli/cli_report.sh
shell_tests += %D%/cli/cli_run.sh
shell_tests += %D%/cli/cli_simulate.sh
shell_tests += %D%/cli/cli_heldout.sh
shell_tests += %D%/cli/cli_validate.sh
shell_tests += %D%/cli/cli_algorithms.sh
shell_tests += %D%/cli/cli_terminal.sh
shell_tests += %D%/cli/cli_tune.sh
shell_tests += %D%/cli/cli_workloads.sh
shell_tests += %D%/cli/wheel.sh
shell_tests += %D%/cli/cli_verl_keys.sh
EXTRA_DIST += %D%/cli/cli_impl.sh
shell_tests += %D%/sim/fingerprints.sh
shell_tests += %D%/study/shell_bash.sh
shell_tests += %D%/floors.sh
shell_tests += %D%/floors_selftest.sh
shell_tests += %D%/installed.sh
shell_tests += %D%/cli/cli_topology.sh
shell_tests += %D%/docs/pages.sh
shell_tests += %D%/docs/pictures.sh
shell_tests += %D%/docs/demo.sh
shell_tests += %D%/docs/readme.sh
shell_tests += %D%/docs/tutorial.sh
shell_tests += %D%/words.sh
shell_tests += %D%/attack/attack.sh
shell_tests += %D%/attack/metamorphic.sh
EXTRA_DIST += %D%/docs/page_impl.sh
shell_tests += %D%/mpi/mpi.sh
shell_tests += %D%/mpi/mpi_collectives.sh
shell_tests += %D%/mpi/mpi_hosts.sh
shell_tests += %D%/mpi/mpi_nccl.sh
shell_tests += %D%/mpi/mpi_study.sh
shell_tests += %D%/mpi/srun.sh
EXTRA_DIST += %D%/mpi/mpi_impl.sh
shell_tests += %D%/needed.sh
shell_tests += %D%/tiers.sh
shell_tests += %D%/device/images.sh
shell_tests += %D%/device/node.sh
shell_tests += %D%/traces/profiles.sh

## Tests that want a GPU and are skipped without one (`make check-gpu`).
gpu_tests =
gpu_tests += %D%/device/gpu.sh

## The evaluator of launch scripts, whose words shell_bash.sh compares.
helper_programs = %D%/study/shell_words
tests_study_shell_words_SOURCES = %D%/study/shell_words.c
EXTRA_DIST += %D%/study/shell_bash.txt

## Attacks: mutated files, and laws of valid plans, through the command line.
helper_programs += %D%/attack/attack
tests_attack_attack_SOURCES = %D%/attack/attack.c %D%/attack/execute.c \
	%D%/attack/execute.h %D%/attack/kinds.c %D%/attack/kinds.h \
	%D%/attack/mutate.c %D%/attack/mutate.h
helper_programs += %D%/attack/metamorphic
tests_attack_metamorphic_SOURCES = %D%/attack/metamorphic.c \
	%D%/attack/execute.c %D%/attack/execute.h
EXTRA_DIST += %D%/attack/README.md %D%/attack/sets.txt %D%/attack/small.pins \
	%D%/attack/small.study %D%/attack/train_bench.csv

## What scripts start as processes.
mpi_programs =
if HAVE_MPI
mpi_programs += %D%/mpi/mpi-nudge
mpi_programs += %D%/reallot-cores-mpi
endif
tests_reallot_cores_mpi_SOURCES = $(reallot_SOURCES) %D%/double/nccl_cores.c \
	$(nccl_double)
tests_reallot_cores_mpi_LDADD = libexec_mpi.a $(ra_ldadd) $(MPI_LIBS)
tests_mpi_mpi_nudge_SOURCES = %D%/mpi/mpi_nudge.c
tests_mpi_mpi_nudge_LDADD = libexec_mpi.a $(ra_ldadd) $(MPI_LIBS)

if HAVE_CHECK
check_PROGRAMS = $(check_programs) $(gpu_programs) $(emulated_programs) \
	$(mpi_programs) $(helper_programs)
TESTS = $(check_programs) $(gpu_programs) $(shell_tests) $(gpu_tests)
else
check_PROGRAMS = $(emulated_programs) $(mpi_programs) $(helper_programs)
TESTS = $(shell_tests) $(gpu_tests)
endif

dist_check_SCRIPTS = $(shell_tests) $(gpu_tests)
EXTRA_DIST += %D%/fuzz/fuzz.sh %D%/cores.sh %D%/arm64.sh
noinst_HEADERS = %D%/support/check_main.h %D%/support/new_path.h
noinst_HEADERS += %D%/support/check_points.h
noinst_HEADERS += %D%/support/check_edit.h
noinst_HEADERS += %D%/support/cpu_random.h
noinst_HEADERS += %D%/support/decode_reference.h
noinst_HEADERS += %D%/support/rollout_case.h
noinst_HEADERS += %D%/support/rollout_reference.h
noinst_HEADERS += %D%/support/rollout_serve_reference.h
noinst_HEADERS += %D%/support/check_corpus.h
noinst_HEADERS += %D%/fuzz/fuzz.h
noinst_HEADERS += %D%/support/plan_sample.h
noinst_HEADERS += %D%/support/plan_run.h %D%/support/zero_run.h
noinst_HEADERS += %D%/support/workload_sample.h
noinst_HEADERS += %D%/support/batcher_reference.h
noinst_HEADERS += %D%/support/critical_path.h %D%/support/graph_builder.h

LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/tests/driver.sh \
	$(top_srcdir)/build-aux/tap-driver.sh
EXTRA_DIST += %D%/driver.sh %D%/times.sh %D%/tiers.tsv
TEST_EXTENSIONS = .sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
## A script's own exit status is for people; what counts is its plan.
SH_LOG_DRIVER_FLAGS = --ignore-exit

## Messages are compared, so the locale is fixed; a GLib warning is a crash.
## The time limit of a Check test, 4 s, is for an idle machine without
## sanitizers: 60 times that here.
AM_TESTS_ENVIRONMENT = \
	RA_DATA_PATH='$(abs_top_srcdir)/share:$(abs_top_srcdir)/traces'; \
	G_DEBUG=fatal-warnings; LC_ALL=C; \
	srcdir='$(abs_top_srcdir)'; builddir='$(abs_top_builddir)'; \
	CK_TIMEOUT_MULTIPLIER="$${CK_TIMEOUT_MULTIPLIER:-60}"; \
	NVCC='$(NVCC)'; RA_HAVE_CUDA='$(RA_HAVE_CUDA)'; RA_REQUIRE_GPU='$(RA_REQUIRE_GPU)'; \
	RA_TESTS='$(check_programs) $(gpu_programs) $(shell_tests) $(gpu_tests)'; \
	RA_PROGRAMS='$(bin_PROGRAMS) $(noinst_PROGRAMS) $(check_programs) $(gpu_programs)'; \
	export RA_DATA_PATH G_DEBUG LC_ALL srcdir builddir \
	  CK_TIMEOUT_MULTIPLIER NVCC RA_HAVE_CUDA RA_REQUIRE_GPU RA_PROGRAMS RA_TESTS; \
	$(RA_TESTS_ENVIRONMENT)

## Outputs that tests/cli/cli*.sh expect to the letter.
EXTRA_DIST += %D%/golden/fingerprints.tsv
EXTRA_DIST += %D%/graph/families.tsv %D%/graph/make_families.py
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

tests_base_check_keyfile_SOURCES = %D%/base/check_keyfile.c %D%/fuzz/fuzz_keyfile.c
EXTRA_DIST += %D%/corpus/.gitattributes
EXTRA_DIST += %D%/corpus/keyfile

## Workloads, clusters and plans: good-* are read, the others refused.
tests_graph_check_cluster_SOURCES = %D%/graph/check_cluster.c %D%/fuzz/fuzz_cluster.c
tests_graph_check_plan_bad_SOURCES = %D%/graph/check_plan_bad.c %D%/fuzz/fuzz_plan.c
tests_graph_check_workload_bad_SOURCES = %D%/graph/check_workload_bad.c \
	%D%/fuzz/fuzz_workload.c
EXTRA_DIST += %D%/corpus/change
EXTRA_DIST += %D%/corpus/safetensors
EXTRA_DIST += %D%/corpus/cluster
EXTRA_DIST += %D%/corpus/length
EXTRA_DIST += %D%/corpus/mesh
EXTRA_DIST += %D%/corpus/op
EXTRA_DIST += %D%/corpus/replay
EXTRA_DIST += %D%/corpus/step_log
EXTRA_DIST += %D%/corpus/system
EXTRA_DIST += %D%/corpus/model_hub
EXTRA_DIST += %D%/corpus/text_data
EXTRA_DIST += %D%/corpus/units
EXTRA_DIST += %D%/corpus/plan
EXTRA_DIST += %D%/corpus/workload
EXTRA_DIST += %D%/corpus/yaml

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
estimator_fixture = %D%/support/estimator_fixture.c %D%/support/estimator_fixture.h \
	%D%/support/profile_text.c %D%/support/profile_text.h
tests_estimator_check_collective_SOURCES = %D%/estimator/check_collective.c $(estimator_fixture)
tests_estimator_check_collective_model_SOURCES = %D%/estimator/check_collective_model.c \
	$(estimator_fixture)
tests_estimator_check_core_SOURCES = %D%/estimator/check_core.c $(estimator_fixture)
tests_sim_check_cost_SOURCES = %D%/sim/check_cost.c $(estimator_fixture)
tests_estimator_check_flash_SOURCES = %D%/estimator/check_flash.c $(estimator_fixture)
tests_estimator_check_overlap_SOURCES = %D%/estimator/check_overlap.c $(estimator_fixture)
tests_sim_check_serve_SOURCES = %D%/sim/check_serve.c $(estimator_fixture)
tests_estimator_check_residual_SOURCES = %D%/estimator/check_residual.c $(estimator_fixture)
tests_estimator_check_gather_SOURCES = %D%/estimator/check_gather.c $(estimator_fixture)
tests_estimator_check_roof_SOURCES = %D%/estimator/check_roof.c $(estimator_fixture)
tests_estimator_check_drafts_SOURCES = %D%/estimator/check_drafts.c $(estimator_fixture)
tests_estimator_check_estimator_SOURCES = %D%/estimator/check_estimator.c $(estimator_fixture)
tests_estimator_check_experts_SOURCES = %D%/estimator/check_experts.c $(estimator_fixture)
tests_traces_check_roofline_SOURCES = %D%/traces/check_roofline.c $(estimator_fixture)
tests_study_check_rl_step_SOURCES = %D%/study/check_rl_step.c
tests_study_check_step_log_SOURCES = %D%/study/check_step_log.c
tests_study_check_step_row_SOURCES = %D%/study/check_step_row.c
tests_traces_check_system_SOURCES = %D%/traces/check_system.c $(estimator_fixture)
tests_graph_check_reload_SOURCES = %D%/graph/check_reload.c %D%/support/plan_text.c %D%/support/plan_text.h \
	$(estimator_fixture)
tests_traces_check_profile_SOURCES = %D%/traces/check_profile.c %D%/fuzz/fuzz_profile.c \
	%D%/support/profile_text.c %D%/support/profile_text.h
EXTRA_DIST += %D%/corpus/profile
