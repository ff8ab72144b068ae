# Arguments of TRL's GRPO at f2cd577, with vLLM on the GPUs of training.
accelerate launch --num_processes 8 --config_file deepspeed_zero3.yaml \
  examples/scripts/grpo_vlm.py \
  --model_name_or_path Qwen/Qwen2.5-7B-Instruct \
  --dataset_name some/problems \
  --output_dir out \
  --learning_rate 1e-6 \
  --beta 0.04 \
  --per_device_train_batch_size 4 \
  --gradient_accumulation_steps 4 \
  --steps_per_generation 8 \
  --num_generations 16 \
  --max_prompt_length 512 \
  --max_completion_length 1024 \
  --use_vllm \
  --vllm_mode colocate \
  --vllm_tensor_parallel_size 2 \
  --vllm_gpu_memory_utilization 0.4
