"""Reallot from Python: the program of this package, called with --format=json.

    import reallot
    result = reallot.simulate("grpo-qwen2.5-7b-32.plan", set={"workload.prompts": 1024})
    print(result["summary"]["iteration_s"], result["fits"])

Seconds, bytes and fractions, as the names of the members say (_s, _bytes, _frac).
"""
import json
import os
import subprocess

program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prefix", "bin", "reallot")


class Error(ValueError):
    """A fault of an argument or a file; the text is the program's line."""


def call(*arguments):
    """Tables of `reallot ARGUMENTS...` as a dict, with "fits": False where the answer is no."""
    done = subprocess.run([program, *map(str, arguments), "--format=json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise Error(done.stderr.strip())
    return {**json.loads(done.stdout), "fits": done.returncode == 0}


def simulate(path, set=None, **options):
    """Simulates the plan PATH: set={"workload.prompts": 512}, seeds=8 is --seeds=8."""
    changes = [text for key, value in (set or {}).items() for text in ("--set", f"{key}={value}")]
    return call("simulate", path, *changes, *options_of(options))


def import_script(path, output, **options):
    """Reads another framework's script or configuration into the plan OUTPUT.plan."""
    return call("import", path, "-o", output, *options_of(options))


def options_of(options):
    return [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}")
            for name, value in options.items()]
