# Settings of examples/scripts/distributed_slurm/ppo.sh
# of openpsi-project/ReaLHF at 21977c47905cfd13eab1871537bc5f7abc66bc44.
MODEL_FAMILY=llama
python3 -m realhf.apps.quickstart ppo \
    mode=slurm \
    n_nodes=4 \
    allocation_mode=heuristic \
    actor.type._class=$MODEL_FAMILY \
    critic.type._class=$MODEL_FAMILY \
    critic.type.is_critic=True \
    ref.type._class=$MODEL_FAMILY \
    rew.type._class=$MODEL_FAMILY \
    rew.type.is_critic=True \
    dataset.max_prompt_len=128 \
    dataset.train_bs_n_seqs=128 \
    ppo.gen.max_new_tokens=512 \
    ppo.gen.min_new_tokens=512 \
    ppo.gen.use_cuda_graph=True \
    ppo.ppo_n_minibatches=4
