/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a trial, each on a connection of its own that the trial ends with.
 *
 * Whatever happens to this command, the connections close: then the processes are as they were.
 * With a tree, processes that come take part from when they are seen, and those that end are
 * counted as far as they were seen. One thread.
 */
#ifndef WCPROF_TRY_SESSION_H
#define WCPROF_TRY_SESSION_H

#include "try.h"

struct try_session;

/* Counted since the session began, in all processes. */
struct try_figures {
	uint64_t progress;
	uint64_t slowed;
	uint64_t extra_ns;
	uint64_t refused;
	double at_ns; /* when, on the monotonic clock */
};

/* Recording is on in all of them. NULL: complained of. */
struct try_session *try_session_open(const struct cmd_options *options, uint64_t most_ms,
				     bool takes_samples);
void try_session_close(struct try_session *session);

const char *try_session_name(const struct try_session *session);
size_t try_session_living(const struct try_session *session);
/* Says why nobody takes part any more; CMD_FAILED. */
int try_session_fail(const struct try_session *session);
/* All that ever took part. */
size_t try_session_seen(const struct try_session *session);

/* From now on samples are taken. */
int try_session_sample(struct try_session *session);
/* From now on these rules, and no others. CMD_DONE, or CMD_FAILED when it was complained of. */
int try_session_rules(struct try_session *session, const struct try_row *row,
		      const struct try_rule *progress);
/* A window begins. */
int try_session_slow(struct try_session *session, double factor, uint64_t window_ms);
/* Asks all, and looks for new ones. */
struct try_figures try_session_look(struct try_session *session);
/* Forgets what is recorded. */
void try_session_reset(struct try_session *session);
/* Writes what is recorded to a file. */
int try_session_dump(struct try_session *session, const char *path);

#endif
