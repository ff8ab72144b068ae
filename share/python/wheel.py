#!/usr/bin/env python3
"""A wheel and a tarball that run from any folder, on x86-64 Linux with glibc.

    wheel.py BUILD FOLDER        (make wheel)

BUILD is a folder with what `make` built.  Into FOLDER come

    reallot-VERSION-py3-none-manylinux_2_N_x86_64.whl   pip install; import reallot
    reallot-VERSION-x86_64.tar.gz                       bin/reallot, share, lib

In both: the program, stripped, with the data that it finds beside itself, and the libraries
beyond glibc that it links, where its run path looks (Makefile.am).  OpenBLAS and MPI,
which only `run` and `calibrate` open, are the machine's.  N is the newest glibc that any file
asks for.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

GLIBC = re.compile(r"^(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv|libutil)\.so")


def text_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def stage(build, folder):
    """The program, its data and libraries as FOLDER/prefix; the N of the glibc they ask for."""
    root, prefix = os.path.join(folder, "root"), os.path.join(folder, "prefix")
    free = {name: value for name, value in os.environ.items() if "MAKEFLAGS" not in name}
    subprocess.run(["make", "-s", "-C", build, "install-data", f"DESTDIR={root}", "prefix=/p"],
                   check=True, stdout=subprocess.DEVNULL, env=free)
    shutil.move(os.path.join(root, "p"), prefix)
    program = os.path.join(prefix, "bin", "reallot")
    os.mkdir(os.path.dirname(program))
    subprocess.run(["strip", "-o", program, os.path.join(build, "reallot")], check=True)
    libraries = os.path.join(prefix, "lib", "reallot")
    os.makedirs(libraries)
    for path in re.findall(r"=> (/\S+)", text_of("ldd", program)):
        if not GLIBC.match(os.path.basename(path)):
            shutil.copy(path, libraries)
    files = [program] + [os.path.join(libraries, name) for name in os.listdir(libraries)]
    needed = re.findall(r"GLIBC_2\.(\d+)", text_of("readelf", "-V", *files))
    return prefix, max(map(int, needed))


def files_below(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)


def write_wheel(path, prefix, version, tag):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reallot")
    info = f"reallot-{version}.dist-info"
    record = []

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def put(name, data, mode=0o644):
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")

        for folder, below in ((here, "reallot"), (prefix, "reallot/prefix")):
            for file in files_below(folder):
                if "__pycache__" in file:
                    continue
                with open(file, "rb") as data:
                    put(f"{below}/{os.path.relpath(file, folder)}", data.read(),
                        0o755 if os.access(file, os.X_OK) else 0o644)
        put(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: reallot\nVersion: {version}\n"
            "Summary: Plans and simulates RL post-training on GPU clusters\n"
            "Requires-Python: >=3.8\n".encode())
        put(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\n"
            f"Tag: {tag}\n".encode())
        put(f"{info}/entry_points.txt",
            b"[console_scripts]\nreallot = reallot.__main__:main\n")
        wheel.writestr(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n")


def write_tar(path, prefix, top):
    def owned(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        return entry

    with tarfile.open(path, "w:gz") as tar:
        tar.add(prefix, arcname=top, filter=owned)


def main():
    if len(sys.argv) != 3:
        sys.exit("wheel.py: expected BUILD FOLDER")
    build, out = sys.argv[1:]
    version = text_of(os.path.join(build, "reallot"), "--version").split()[1]
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        prefix, newest = stage(os.path.abspath(build), folder)
        tag = f"py3-none-manylinux_2_{newest}_x86_64"
        paths = [os.path.join(out, name) for name in (f"reallot-{version}-{tag}.whl",
                                                      f"reallot-{version}-x86_64.tar.gz")]
        write_wheel(paths[0], prefix, version, tag)
        write_tar(paths[1], prefix, f"reallot-{version}")
    for path in paths:
        print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
