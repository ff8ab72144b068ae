#!/usr/bin/env python3
"""Exports of shipped plans, composed by the framework's own configuration.

    pip install hydra-core
    bench/peer/exports.py BUILD verl@2026-08=CHECKOUT verl@2026-01=CHECKOUT \\
        nemo-rl=CHECKOUT openrlhf@0.9.9=CHECKOUT \\
        slime=CHECKOUT:MEGATRON-LM:SGLANG ...

Each plan of share/plans is exported to each target, and composed there:

    verl      hydra, with the framework's files: an unknown key, or one that is
              added twice, is an error
    nemo-rl   its load_config() and parse_hydra_overrides(), then resolved
    openrlhf  its parser of arguments, taken from train_ppo_ray.py
    slime     every flag is an argument of slime's or Megatron's, or of
              SGLang's server behind `--sglang-`

What is composed is imported, and the plan compared with that of the exported
script.  A row each: plan, target, composed, same.  Exit status 1 unless all are
composed and the same.
"""
import argparse
import ast
import datetime
import importlib.util
import os
import re
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
    at = words.index("-m") + 1 if "-m" in words else 1
    name, overrides = None, []
    for word in words[at + 1 :]:
        if word.startswith(("--config-name=", "--config=")):
            name = word.partition("=")[2]
        elif word != "$@":
            overrides.append(word)
    return words[at], name, overrides


def of_nemo_rl(checkout, script):
    """The configuration of NeMo-RL that @script starts with, as YAML."""
    path = os.path.join(checkout, "nemo_rl/utils/config.py")
    spec = importlib.util.spec_from_file_location("nemo_rl_config", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, name, overrides = launch(script)
    for resolver, function in (
        ("mul", lambda a, b: a * b),
        ("max", max),
    ):
        OmegaConf.register_new_resolver(resolver, function, replace=True)
    config = module.load_config(os.path.join(checkout, name))
    config = module.parse_hydra_overrides(config, overrides)
    OmegaConf.resolve(config)
    return OmegaConf.to_yaml(config)


def of_openrlhf(checkout, script):
    """Nothing: the parser of arguments has taken @script's."""
    path = os.path.join(checkout, "openrlhf/cli/train_ppo_ray.py")
    main = ast.parse(open(path).read()).body[-1]
    calls = [
        node
        for node in main.body
        if "add_argument(" in ast.unparse(node)
    ]
    parser = argparse.ArgumentParser(exit_on_error=False)
    code = ast.unparse(ast.Module(calls, []))
    exec(code, {"parser": parser, "datetime": datetime.datetime})
    _, unknown = parser.parse_known_args(launch(script)[2])
    if unknown:
        raise ValueError(f"unknown: {unknown}")


def flags_of(folder):
    """Arguments that the sources below @folder add: by add_argument(), or, as
    Megatron-LM and SGLang do, from the fields of their configurations; each with
    its `--no-`, as argparse's BooleanOptionalAction has it."""
    flags = set()
    for at, _, files in os.walk(folder):
        for file in (f for f in files if f.endswith(".py")):
            text = open(os.path.join(at, file)).read()
            flags.update(re.findall(r"[\"']--([a-z][a-z0-9-]+)[\"']", text))
            fields = re.findall(r"^    ([a-z]\w+) *:", text, re.MULTILINE)
            flags.update(field.replace("_", "-") for field in fields)
    return {"--" + flag for flag in flags} | {"--no-" + flag for flag in flags}


def of_slime(checkout, script):
    """Nothing: all flags of @script are known."""
    slime, megatron, sglang = checkout.split(":")
    if checkout not in KNOWN:
        KNOWN[checkout] = (
            flags_of(os.path.join(slime, "slime"))
            | flags_of(os.path.join(megatron, "megatron"))
            | {"--sglang-" + f[2:] for f in flags_of(sglang)}
        )
    flags = {w for w in launch(script)[2] if w.startswith("--")}
    if flags - KNOWN[checkout]:
        raise ValueError(f"unknown: {sorted(flags - KNOWN[checkout])}")


def of_verl(checkout, script):
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


KNOWN = {}  # flags, by the folders that they come from
COMPOSE = {
    "verl": of_verl,
    "nemo-rl": of_nemo_rl,
    "openrlhf": of_openrlhf,
    "slime": of_slime,
}


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
        checkout = ":".join(map(os.path.abspath, checkout.split(":")))
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
                    text = COMPOSE[target.partition("@")[0]](checkout, script)
                    with open(path, "w") as file:
                        file.write(text or open(script).read())
                    if not text:  # flags stay flags
                        path = script
                    models = "--model=" + shape_of(plan)
                    same = plan_of(reallot, path, folder, models) == plan_of(
                        reallot, script, folder, models
                    )
                except (Exception, SystemExit) as cause:  # of many kinds
                    error = str(cause).splitlines()[0]
                n += 1
                n_bad += bool(error) or not same
                print(plan, target, error or "yes", same, sep="\t")
    print(f"# {n - n_bad} of {n} composed and the same")
    return n_bad > 0 or n == 0


if __name__ == "__main__":
    sys.exit(main())
