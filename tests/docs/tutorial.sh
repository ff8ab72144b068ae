#!/bin/bash
# The tutorial does what it says: tests/docs/page_impl.sh.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"
# shellcheck source=tests/cli/cli_impl.sh
. "${srcdir:?is set by make check}/tests/cli/cli_impl.sh"
# shellcheck source=tests/docs/page_impl.sh
. "$srcdir/tests/docs/page_impl.sh"

page=$srcdir/docs/tutorial.md
run_page "$page"
[ "$n_commands" -ge 10 ]
result $? "it has $n_commands commands"
same "$page" new.md 0.2
result $? "and prints what the page says"
sed 's/^/# /' differ
# A number that is off by a half, and a word that is another, would be found.
sed 's/^\(      iteration *\)\([0-9.]*\)/\199\2/' new.md >off.md
! same "$page" off.md 0.2 >/dev/null
result $? "a wrong number would be found"
sed 's/The knee/The nail/' new.md >off.md
! same "$page" off.md 0.2 >/dev/null
result $? "a wrong word would be found"

echo "1..$n"
