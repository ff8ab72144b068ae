# Settings of examples/scripts/local/ppo_symm.sh
# of openpsi-project/ReaLHF at 21977c47905cfd13eab1871537bc5f7abc66bc44.
MODEL_FAMILY=llama
python3 -m realhf.apps.quickstart ppo \
    mode=local \
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
    ppo.ppo_n_minibatches=4 \
    ppo.adv_norm=True ppo.value_norm=True \
    allocation_mode=m2d2p2 \
    actor_gen.n_mbs=2 \
    actor_train.n_mbs=4 \
    ref_inf.n_mbs=2
