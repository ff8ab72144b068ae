# Keys of skyrl.train.entrypoints.main_base at a956457, as its scripts have them.
python -m skyrl.train.entrypoints.main_base \
  data.train_data="['/data/gsm8k/train.parquet']" \
  trainer.algorithm.advantage_estimator=grpo \
  trainer.algorithm.use_kl_loss=true \
  trainer.policy.model.path=Qwen/Qwen2.5-7B-Instruct \
  trainer.strategy=fsdp \
  trainer.placement.colocate_all=true \
  trainer.placement.policy_num_nodes=2 \
  trainer.placement.policy_num_gpus_per_node=8 \
  trainer.train_batch_size=256 \
  trainer.policy_mini_batch_size=64 \
  trainer.micro_forward_batch_size_per_gpu=8 \
  trainer.micro_train_batch_size_per_gpu=4 \
  trainer.max_prompt_length=512 \
  trainer.policy.optimizer_config.lr=1.0e-6 \
  trainer.eval_interval=5 \
  generator.inference_engine.num_engines=8 \
  generator.inference_engine.tensor_parallel_size=2 \
  generator.inference_engine.gpu_memory_utilization=0.7 \
  generator.inference_engine.backend=vllm \
  generator.n_samples_per_prompt=8 \
  generator.sampling_params.max_generate_length=2048 \
  environment.env_class=gsm8k
