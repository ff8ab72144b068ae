#!/bin/bash
# The wheel as a user installs it: the program and its data from the package's
# folder, the library's functions, and no library but glibc's from outside.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"

if ! command -v python3 >/dev/null || ! command -v strip >/dev/null; then
  echo "1..0 # SKIP no python3 or strip"
  exit 0
fi
plans=$(cd "$srcdir" && pwd)/share/plans
unset RA_DATA_PATH PYTHONPATH

python3 "$srcdir/share/python/wheel.py" "$builddir" here >out 2>err
[ $? -eq 0 ] && [ "$(find here -name '*.whl' -size -25M | wc -l)" -eq 1 ]
result $? "a wheel of at most 25 MB"
python3 - <<'PY' # as pip does, which a machine may lack
import glob, os, zipfile
for entry in (wheel := zipfile.ZipFile(glob.glob("here/*.whl")[0])).infolist():
    os.chmod(wheel.extract(entry, "site"), entry.external_attr >> 16 or 0o644)
PY
python3 - >listed <<'PY'
import base64, csv, glob, hashlib, os
record = glob.glob("site/*.dist-info/RECORD")[0]
rows = list(csv.reader(open(record)))
for name, digest, size in rows:
    data = open(os.path.join("site", name), "rb").read()
    code = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    if size and (int(size) != len(data) or digest != "sha256=" + code):
        print("wrong", name)
print("rest", {name for name, _, _ in rows} ^ {os.path.relpath(os.path.join(at, n), "site")
      for at, _, ns in os.walk("site") for n in ns})
PY
[ "$(cat listed)" = "rest set()" ]
result $? "its record has every file"

program=site/reallot/prefix/bin/reallot
ldd $program | grep '=> /' | grep -v '/site/reallot/prefix/' |
  grep -vE '/(libc|libm|libdl|libpthread|ld-linux-x86-64)\.so' >outside
[ ! -s outside ]
result $? "libraries beyond glibc are its own"

# The data beside the program are found first by their name alone.
"$reallot" simulate "$plans/ppo-tiny-8.plan" --format=json \
  --set workload.prompts=16 >want
PYTHONPATH=site python3 - want >out 2>err <<'PY'
import json, sys
import reallot
result = reallot.simulate("ppo-tiny-8.plan", set={"workload.prompts": 16})
assert result.pop("fits") is True
want = json.load(open(sys.argv[1]))
assert result["summary"]["iteration_s"] == want["summary"]["iteration_s"], result["summary"]
full = reallot.simulate("ppo-tiny-8.plan", set={"cluster.framework-memory": "80 GiB"},
                        iterations=1)
assert full["fits"] is False and full["memory"], full
for wrong in (lambda: reallot.simulate("nosuch.plan"),
              lambda: reallot.simulate("ppo-tiny-8.plan", set={"workload.nosuch": 1})):
    try:
        wrong()
        print("no error")
    except reallot.Error as error:
        print(str(error).splitlines()[-1])
PY
rc=$?
[ $rc -eq 0 ] && head -n 1 out | grep -q "^reallot: no file 'nosuch.plan'" &&
  tail -n 1 out | grep -q "^reallot: --set 'workload.nosuch=1'" || { cat out err; false; }
result $? "simulate() gives the program's tables; a fault is an Error"
[ "$(PYTHONPATH=site python3 -m reallot --version)" = "$("$reallot" --version)" ]
result $? "python -m reallot"

echo "1..$n"
