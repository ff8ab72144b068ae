#!/usr/bin/env python3
"""Exports of shipped plans, composed by the framework's own configuration.

    pip install hydra-core
    bench/peer/exports.py BUILD verl@2026-08=CHECKOUT verl@2026-01=CHECKOUT ...

Each plan of share/plans is exported to each target.  hydra composes the
framework's configuration with the exported overrides: an unknown key, or one
that is added twice, is an error there.  What it composes is imported, and the
plan compared with that of the exported script.  A row each: plan, target,
composed, same.  Exit status 1 unless all are composed and the same.
"""
import os
import shlex
import subprocess
import sys
import tempfile

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))


def launch(path):
    """Entry point, name of the configuration and overrides of a script."""
    lines = [line for line in open(path) if not line.startswith("#")]
    words = shlex.split("".join(lines).replace("\\\n", " "))
    at = words.index("-m") + 1
    name, overrides = None, []
    for word in words[at + 1 :]:
        if word.startswith("--config-name="):
            name = word.partition("=")[2]
        elif word != "$@":
            overrides.append(word)
    return words[at], name, overrides


def composed(checkout, script):
    """The configuration of verl that @script starts with, as YAML."""
    entry, name, overrides = launch(script)
    main = os.path.join(checkout, "verl/trainer/config")
    folder = main
    if not entry.startswith("verl.trainer."):
        package = entry.split(".")[:-1]
        folder = os.path.join(checkout, *package, "config")
        overrides.append(f"hydra.searchpath=[file://{main}]")
        kind = "fully_async" if "fully_async" in entry else "one_step_off"
        name = name or kind + "_ppo_trainer"
    with initialize_config_dir(config_dir=folder, version_base=None):
        return OmegaConf.to_yaml(compose(name or "ppo_trainer", overrides))


def shape_of(plan):
    """A model with the heads and experts of @plan's, if it has no name."""
    if "a3b" in plan:
        return "qwen3-30b-a3b.json"
    return "tiny-llama.json" if "tiny" in plan else "llama-2-7b.json"


def plan_of(reallot, path, folder, models):
    """Lines of the plan that @path is imported as."""
    done = subprocess.run(
        [reallot, "import", path, "-o", folder, "--name=x", "--force", models],
        capture_output=True,
        text=True,
    )
    if done.returncode or done.stderr:
        return done.stderr
    plan = open(os.path.join(folder, "x.plan")).read()
    return [line for line in plan.splitlines() if not line.startswith("#")]


def main():
    reallot = os.path.join(sys.argv[1], "reallot")
    plans = os.path.join(ROOT, "share/plans")
    n_bad = n = 0
    os.environ["RA_DATA_PATH"] = f"{ROOT}/share:{ROOT}/traces"
    print("plan\ttarget\tcomposed\tsame")
    for target, _, checkout in (a.partition("=") for a in sys.argv[2:]):
        checkout = os.path.abspath(checkout)
        for plan in sorted(os.listdir(plans)):
            with tempfile.TemporaryDirectory() as folder:
                script = os.path.join(folder, "run.sh")
                done = subprocess.run(
                    [reallot, "export", f"{plans}/{plan}", "--to", target]
                    + ["-o", script],
                    capture_output=True,
                )
                if done.returncode == 1:
                    continue  # the framework has no such configuration
                error, same = "", False
                try:
                    path = os.path.join(folder, "run.yaml")
                    with open(path, "w") as file:
                        file.write(composed(checkout, script))
                    models = "--model=" + shape_of(plan)
                    same = plan_of(reallot, path, folder, models) == plan_of(
                        reallot, script, folder, models
                    )
                except Exception as cause:  # hydra's are of many kinds
                    error = str(cause).splitlines()[0]
                n += 1
                n_bad += bool(error) or not same
                print(plan, target, error or "yes", same, sep="\t")
    print(f"# {n - n_bad} of {n} composed and the same")
    return n_bad > 0 or n == 0


if __name__ == "__main__":
    sys.exit(main())
