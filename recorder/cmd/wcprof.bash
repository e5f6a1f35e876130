# SPDX-License-Identifier: Apache-2.0
# Completes the command line of wcprof in bash: commands, their options, processes, arenas, programs.
#
# What there is comes from wcprof itself, so that this list cannot grow old.
# shellcheck shell=bash disable=SC2207

_wcprof_words() { # COMMAND: long options that its help shows
	wcprof help "$1" 2>/dev/null | sed -nE 's/^  (-.,|   ) (--[a-z-]+).*/\2/p'
}

_wcprof_processes() { # PATTERN of states: pids and names
	wcprof list --json 2>/dev/null | sed -nE \
		"/\"state\":\"($1)\"/s/.*\"pid\":([0-9]+),\"name\":\"([^\"]*)\".*\"arena\":\"([^\"]*)\".*/\1 \2 \3/p"
}

_wcprof() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
	COMPREPLY=()
	if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ $command == help ]]; }; then
		COMPREPLY=($(compgen -W "$(wcprof help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p') help" -- "$word"))
	elif [[ $before == -o || $before == --output || $before == -b || $before == --budget ||
		$before == --junit ]]; then
		COMPREPLY=($(compgen -f -- "$word"))
	elif [[ $word == -* ]]; then
		COMPREPLY=($(compgen -W "$(_wcprof_words "$command")" -- "$word"))
	else
		case $command in
		attach) COMPREPLY=($(compgen -W "$(ps -eo pid=,comm= 2>/dev/null)" -- "$word")) ;;
		record | check) COMPREPLY=($(compgen -c -- "$word")) ;;
		recover | remove)
			COMPREPLY=($(compgen -W "$(_wcprof_processes dead | awk '{ print $1, $3 }')" -- "$word")) ;;
		list) ;;
		collect) COMPREPLY=($(compgen -A hostname -- "$word")) ;;
		ci)
			if ((COMP_CWORD == 2)); then
				COMPREPLY=($(compgen -W "run check" -- "$word"))
			else
				COMPREPLY=($(compgen -d -- "$word"))
			fi
			;;
		*) COMPREPLY=($(compgen -W "$(_wcprof_processes 'on|off' | awk '{ print $1, $2 }')" -- "$word")) ;;
		esac
	fi
}
complete -o default -F _wcprof wcprof
