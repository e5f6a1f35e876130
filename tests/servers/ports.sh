# SPDX-License-Identifier: Apache-2.0
# Ports of this machine, and waiting for what is about to be true.
# shellcheck shell=bash

fail() {
	echo "failed: $*"
	exit 1
}

# True when something listens on a loopback port.
listens() { # PORT
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Asks again every 20 ms until the command succeeds. Giving up after ten minutes only ends what hangs.
until_true() { # COMMAND...
	local deadline=$((SECONDS + 600))
	until "$@"; do
		((SECONDS < deadline)) || return 1
		sleep 0.02
	done
}

# A port on which nothing listens at the moment.
free_port() {
	local port
	for _ in {1..50}; do
		port=$((20000 + RANDOM % 12000))
		listens "$port" || { echo "$port"; return; }
	done
	fail "no free port"
}
