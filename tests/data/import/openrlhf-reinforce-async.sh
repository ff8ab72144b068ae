# Settings of examples/scripts/train_reinforce_baseline_llama_ray_async.sh
# of OpenRLHF/OpenRLHF at 4e15f34867a456dcdf6c864ecf6dccbf2d24ff96.
ray job submit --address="http://127.0.0.1:8265" \
   --runtime-env-json='{"working_dir": "/openrlhf"}' \
   -- python3 -m openrlhf.cli.train_ppo_ray \
   --ref_num_nodes 1 --ref_num_gpus_per_node 1 \
   --reward_num_nodes 1 --reward_num_gpus_per_node 1 \
   --actor_num_nodes 1 --actor_num_gpus_per_node 4 \
   --vllm_num_engines 2 --vllm_tensor_parallel_size 1 \
   --pretrain OpenRLHF/Llama-3-8b-sft-mixture \
   --reward_pretrain OpenRLHF/Llama-3-8b-rm-700k \
   --micro_train_batch_size 8 \
   --train_batch_size 128 \
   --micro_rollout_batch_size 16 \
   --rollout_batch_size 128 \
   --n_samples_per_prompt 8 \
   --max_epochs 1 \
   --prompt_max_len 1024 \
   --generate_max_len 1024 \
   --advantage_estimator reinforce_baseline \
   --zero_stage 3 \
   --bf16 \
   --init_kl_coef 1e-2 \
   --use_kl_loss \
   --kl_estimator k2 \
   --gradient_checkpointing \
   --packing_samples \
   --save_steps -1 \
   --async_train
