"""python -m reallot, and the command reallot of the environment."""
import os
import sys

from reallot import program


def main():
    os.execv(program, ["reallot", *sys.argv[1:]])


if __name__ == "__main__":
    main()
