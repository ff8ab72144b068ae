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


# pip takes it, in an environment of its own and without a network.
skipped() { # WHAT WHY
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}
if python3 -m venv clean >out 2>err && [ -x clean/bin/pip ]; then
  env -i PATH=/usr/bin:/bin HOME="$tmp" clean/bin/pip install --no-index \
    --disable-pip-version-check here/*.whl >out 2>err &&
    [ "$(env -i clean/bin/reallot --version)" = "$("$reallot" --version)" ]
  result $? "pip installs it, with the command reallot"
else
  skipped "pip installs it" "no pip for an environment"
fi

# A machine that has Python and the C library alone: the demo is simulated and a
# script is imported, as by the program here.
copied() { # FILE...: and what it is linked with, under root
  local file
  for file in "$@" $(ldd "$@" | grep -o '/[^ ]*\.so[^ ]*' | sort -u); do
    install -D "$file" "root$file"
  done
}
base=$(python3 -c 'import sys; print(sys._base_executable)')
stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
chroot=("$(PATH=$PATH:/usr/sbin command -v chroot)" root)
[ "$(id -u)" -eq 0 ] || chroot=("$(command -v unshare)" -r "${chroot[@]}")
copied "$base" >out 2>err
mkdir -p "root$stdlib" root/tmp root/proc/self
tar -C "$stdlib" -c --exclude=./test --exclude=./site-packages \
  --exclude=./dist-packages --exclude=__pycache__ --exclude=./ensurepip \
  --exclude='./config-*' --exclude=./idlelib --exclude=./tkinter . |
  tar -C "root$stdlib" -x
cp -r site root/site
cp "$srcdir/tests/data/import/verl-grpo-qwen2-7b.sh" root/tmp/verl.sh
# No kernel's /proc: the link by which a program finds its folder.
ln -s /site/reallot/prefix/bin/reallot root/proc/self/exe
cat >root/tmp/demo.py <<'PY'
import json, os, reallot
result = reallot.simulate("ppo-llama3-70b-128.plan", iterations=1)
assert result["fits"] is True
print(json.dumps(result["summary"], sort_keys=True))
reallot.import_script("/tmp/verl.sh", "/tmp", name="verl")
print(open("/tmp/verl.plan").read().count("[call "), os.path.exists("/tmp/verl.cluster"))
imported = reallot.simulate("/tmp/verl.plan", iterations=1)["summary"]
print(imported["iteration_s"])
PY
alone() { # ARGUMENT...: of Python in root
  env -i HOME=/tmp PATH=/usr/bin PYTHONPATH=/site PYTHONDONTWRITEBYTECODE=1 \
    "${chroot[@]}" "$base" "$@"
}
if alone -c pass >out 2>err; then
  find root ! -path 'root/site/*' -name '*.so*' |
    grep -E '/lib(glib|gio|gobject|json-glib|yaml|pcre2|ffi)' >foreign # z is Python's
  [ ! -s foreign ]
  result $? "the machine has no library of ours"
  alone /tmp/demo.py >out 2>err
  rc=$?
  "$reallot" simulate "$plans/ppo-llama3-70b-128.plan" -n 1 --format=json |
    python3 -c 'import json, sys
print(json.dumps(json.load(sys.stdin)["summary"], sort_keys=True))' >want
  "$reallot" import root/tmp/verl.sh -o again --name=verl >/dev/null
  grep -c '^\[call ' again/verl.plan | sed 's/$/ True/' >>want
  "$reallot" simulate again/verl.plan -n 1 --format=json |
    python3 -c 'import json, sys
print(json.load(sys.stdin)["summary"]["iteration_s"])' >>want
  [ $rc -eq 0 ] && diff want out >differs
  result $? "the demo and a verl script there, to the digit"
  sed 's/^/# /' err differs
  # The fault to find: a library that it does not carry.
  rm root/site/reallot/prefix/lib/reallot/libyaml*
  ! alone -m reallot --version >out 2>err && grep -q libyaml err
  result $? "without one of its libraries it would not run"
else
  for what in "no library of ours" "the demo there" "a library less"; do
    skipped "$what" "no chroot: $(head -n 1 err)"
  done
fi

echo "1..$n"
