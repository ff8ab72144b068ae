# Settings of examples/scripts/train_ppo_llama_ray_70b.sh
# of OpenRLHF/OpenRLHF at 0ae587675465372d0f38a4c13275d84339c9350a.
ray job submit --address="http://127.0.0.1:8265" --no-wait \
    -- python3 examples/train_ppo_ray.py \
    --ref_num_nodes 1 --ref_num_gpus_per_node 2 \
    --reward_num_nodes 1 --reward_num_gpus_per_node 2 \
    --critic_num_nodes 1 --critic_num_gpus_per_node 4 \
    --actor_num_nodes 1 --actor_num_gpus_per_node 4 \
    --vllm_num_engines 2 --vllm_tensor_parallel_size 2 \
    --pretrain meta-llama/Llama-2-70b-chat-hf \
    --reward_pretrain meta-llama/Llama-2-70b-chat-hf \
    --micro_train_batch_size 1 \
    --train_batch_size 128 \
    --micro_rollout_batch_size 2 \
    --rollout_batch_size 1024 \
    --max_epochs 1 \
    --prompt_max_len 1024 \
    --generate_max_len 1024 \
    --zero_stage 3 \
    --bf16 \
    --actor_learning_rate 5e-7 \
    --init_kl_coef 0.01 \
    --adam_offload \
    --flash_attn \
    --gradient_checkpointing
