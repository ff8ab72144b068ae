# An example in the form of OpenRLHF's examples/scripts (2026-08, dotted
# flags): PPO of Llama-3-8B, all models and engines on the 8 GPUs of a node.
ray job submit --address="http://127.0.0.1:8265" \
   --runtime-env-json='{"working_dir": "/openrlhf"}' \
   -- python3 -m openrlhf.cli.train_ppo_ray \
   --ref.num_nodes 1 --ref.num_gpus_per_node 8 \
   --reward.num_nodes 1 --reward.num_gpus_per_node 8 \
   --critic.num_nodes 1 --critic.num_gpus_per_node 8 \
   --actor.num_nodes 1 --actor.num_gpus_per_node 8 \
   --vllm.num_engines 4 --vllm.tensor_parallel_size 2 \
   --vllm.gpu_memory_utilization 0.5 \
   --vllm.enable_prefix_caching \
   --vllm.sync_backend nccl \
   --train.colocate_all \
   --actor.model_name_or_path meta-llama/Meta-Llama-3-8B \
   --reward.model_name_or_path meta-llama/Meta-Llama-3-8B \
   --train.batch_size 256 --train.micro_batch_size 2 \
   --rollout.batch_size 128 --rollout.micro_batch_size 4 \
   --rollout.n_samples_per_prompt 8 \
   --train.max_epochs 2 \
   --data.max_len 4096 --rollout.max_new_tokens 3072 \
   --ds.zero_stage 3 --ds.param_dtype bf16 --ds.overlap_comm \
   --ds.packing_samples \
   --actor.gradient_checkpointing_enable \
   --actor.adam.lr 5e-7 --algo.kl.init_coef 0.01 \
   --data.prompt_dataset somebody/prompts --data.apply_chat_template \
   --logger.wandb.project mine --ckpt.output_dir out
