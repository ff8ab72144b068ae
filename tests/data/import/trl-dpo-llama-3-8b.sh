# Arguments of TRL's DPO at f2cd577, with adapters.
accelerate launch --num_processes 4 --config_file deepspeed_zero2.yaml \
  trl/scripts/dpo.py \
  --model_name_or_path meta-llama/Meta-Llama-3-8B-Instruct \
  --dataset_name some/comparisons \
  --per_device_train_batch_size 2 \
  --gradient_accumulation_steps 8 \
  --max_length 1024 \
  --use_peft \
  --lora_r 32 \
  --output_dir out
