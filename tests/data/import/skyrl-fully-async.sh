# Keys of SkyRL's fully asynchronous trainer, with Megatron, at a956457.
python -m skyrl.train.entrypoints.main_base \
  trainer.policy.model.path=Qwen/Qwen3-8B \
  trainer.strategy=megatron \
  trainer.policy.megatron_config.tensor_model_parallel_size=4 \
  trainer.placement.colocate_all=false \
  trainer.placement.policy_num_gpus_per_node=8 \
  trainer.fully_async.enabled=true \
  trainer.fully_async.max_staleness_steps=2 \
  trainer.algorithm.use_kl_loss=false \
  trainer.train_batch_size=64 \
  trainer.policy_mini_batch_size=64 \
  generator.inference_engine.num_engines=8 \
  generator.n_samples_per_prompt=8 \
  generator.max_turns=3 \
  generator.max_input_length=8192 \
  generator.sampling_params.max_generate_length=2048
