# Keys of skyrl.train.main_sft at a956457.
python -m skyrl.train.main_sft \
  strategy=fsdp \
  model.path=Qwen/Qwen2.5-1.5B-Instruct \
  max_length=2048 \
  batch_size=64 \
  micro_train_batch_size_per_gpu=4 \
  placement.num_nodes=1 \
  placement.num_gpus_per_node=4
