# SPDX-License-Identifier: Apache-2.0
# What the programs share. They run in an empty directory of their own, whose processes the driver ends.
# shellcheck shell=bash
source "$PROGRAMS/../../servers/ports.sh"

# Runs it as nobody if this is root, whom some programs refuse; the recorder wants a directory of that user's.
as_nobody() { # COMMAND...
	if (($(id -u))); then
		"$@"
	else
		env -u LD_PRELOAD setpriv --reuid=nobody --regid=nogroup --clear-groups \
			env ${LD_PRELOAD:+LD_PRELOAD="$LD_PRELOAD"} ${WCPROF_DIR:+WCPROF_DIR="$PLACE/run-nobody"} \
			${WCPROF_OUTPUT:+WCPROF_OUTPUT="$PLACE/dumps/nobody.%e.%p.jsonl"} "$@"
	fi
}

# Asks until it answers; a program must not depend on how fast another one is.
wait_for_port() { # PORT
	until_true listens "$1" || fail "nothing listens on the port"
}
