# SPDX-License-Identifier: Apache-2.0
# What the server tests share: a server under the profiler on a free port, its control socket, its end.
#
# A test sources this file, then: start_server, wait_for_port, control ENABLE, a load, dump_and_check,
# stop_server. Everything lives in a directory of its own and ends with the test, whatever happens.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/servers/ports.sh

# Exported for nobody: programs are preloaded one by one, never this shell.
library=$PWD/${B:-build}/libwcprof.so
analyzer=$PWD/${B:-build}/wcprof-analyze
# shellcheck disable=SC2034
targets=$PWD/${B:-build}/tests/targets
here=$(mktemp -d)
server=
recorded=() # pids

# What a process leaves behind, so that a recording can be recovered.
remove_arenas() {
	local pid
	for pid in "${recorded[@]}"; do
		rm -f "/dev/shm/wcprof-$(id -u)-$pid-"*
	done
}

finish() {
	local status=$?
	if [[ $server ]]; then
		kill -KILL -- "-$server" 2>/dev/null || true # its children too: it leads a process group
		wait "$server" 2>/dev/null || true
	fi
	remove_arenas
	if ((status)); then
		tail -n 30 "$here"/*.out | tr '\r' '\n' | tail -n 60 2>/dev/null || true
	fi
	rm -rf "$here"
}
trap finish EXIT

[[ -e $library && -x $analyzer ]] || fail "not built: $library, $analyzer (make)"

need() { # COMMAND...
	local command
	for command in "$@"; do
		PATH=$PATH:/usr/sbin command -v "$command" >/dev/null || fail "no $command here (scripts/setup)"
	done
}

start_server() { # COMMAND...
	setsid env WCPROF_DIR="$here/run" LD_PRELOAD="$library" "$@" >"$here/server.out" 2>&1 </dev/null &
	server=$!
}

is_running() {
	kill -0 "$server" 2>/dev/null
}

wait_for_port() { # PORT
	until_true listens "$1" || fail "the server does not listen on port $1"
}

# Sends one line to a process's control socket and prints what comes back.
control() { # PID LINE
	local socket=$here/run/$1.sock
	until_true test -S "$socket" || fail "no control socket $socket"
	printf '%s\n' "$2" | socat -t 600 - "UNIX-CONNECT:$socket"
}

enable() { # PID
	local answer
	recorded+=("$1")
	answer=$(control "$1" ENABLE)
	[[ $answer == OK* ]] || fail "ENABLE: $answer"
}

# Dumps the running process, analyses it, and checks what every recording must fulfil.
dump_and_check() { # PID CHECK...: each a Python expression over r, the report, and d, the dump's header
	local pid=$1 dump=$here/$1.jsonl report=$here/$1.json
	shift
	control "$pid" DUMP >"$dump"
	[[ $(head -c 1 "$dump") == '{' ]] || fail "DUMP: $(head -c 300 "$dump")"
	"$analyzer" --force --json --min-self 0 --top 1000 "$dump" >"$report" || fail "wcprof-analyze: exit status $?"
	python3 tests/servers/expect.py "$dump" "$report" "$@"
}

stop_server() { # [SIGNAL]: its exit status must be 0
	local status=0
	kill -"${1:-TERM}" "$server"
	until_true eval '! is_running' || fail "the server did not stop"
	wait "$server" || status=$?
	server=
	((status == 0)) || fail "the server ended with status $status"
}
