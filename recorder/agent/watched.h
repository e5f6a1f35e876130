/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that the agent records: found by the rules, recorded under a lease, let go.
 *
 * A process that somebody else records is left alone. All of them are asked at once, for a bounded
 * time. One thread.
 */
#ifndef WCPROF_WATCHED_H
#define WCPROF_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"
#include "reach.h"

enum {
	WATCHED_MOST = 1024,
	WATCHED_PROGRAM_BYTES = 64,
	WATCHED_SETTINGS_BYTES = 80,
	/* A lease lasts so many scans, and this long more: a process that hands its dump out slowly
	 * keeps the agent busy. */
	WATCHED_LEASE_SCANS = 3,
	WATCHED_LEASE_MORE_S = 60
};

struct watched {
	pid_t pid;
	uint64_t start_ticks;              /* with the pid, which process it is */
	const struct config_process *rule; /* of the last scan */
	char program[WATCHED_PROGRAM_BYTES];
	char socket[REACH_PATH_BYTES];
	char settings[WATCHED_SETTINGS_BYTES]; /* that it was given; empty: none yet */
	bool is_seen;                          /* by this scan */
	bool is_ours;                          /* it records for us */
	uint64_t due_ns;         /* when its dump is to be taken, by the monotonic clock */
	uint64_t taken_ns;       /* when that was last, or recording began */
	uint64_t share_ppm;      /* of the time that its budget leaves, as it says */
	uint64_t own_ns, cpu_ns; /* as of its last answer */
};

struct watched_list {
	struct watched *all;
	size_t count, room;
};

/* Of a process, by its answer to STATUS. */
enum watched_state { WATCHED_OFF, WATCHED_LEASED, WATCHED_FOREIGN };
enum watched_state watched_state_of(const char *status);
/* The line that has it record, or go on; `state` is not foreign. Settings are sent when they are
 * others than it was given. */
void watched_line(const struct watched *watched, enum watched_state state, uint64_t scan_s,
		  char *line, size_t size);

/* Looks for processes, and has all that the rules fit record from now on. */
void watched_scan(struct watched_list *list, const struct config *config, uint64_t now_ns);
/* Has one, or all, record no more. */
void watched_stop(struct watched *watched);
void watched_stop_all(struct watched_list *list);
void watched_free(struct watched_list *list);

#endif
