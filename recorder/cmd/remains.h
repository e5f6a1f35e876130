/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arenas in shared memory: those that processes record into, and those that dead ones left.
 *
 * An arena belongs to an image of a process: pid, start time, pid name space and generation. It is
 * alive while exactly that process lives and has the file mapped. An image that exec replaced is as
 * dead as a process that was killed. Nothing but handing out a dump writes to an arena.
 *
 * Nothing in an arena is believed. Its process may be another user's, and may have overwritten it.
 * It may write to it, or shorten it, while it is read.
 */
#ifndef WCPROF_REMAINS_H
#define WCPROF_REMAINS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "client.h"
#include "format.h"

enum { REMAINS_PATH_BYTES = 128 };

enum remains_state {
	REMAINS_LIVE,
	REMAINS_DEAD,
	REMAINS_UNCLEAR /* its process lives, but nobody may know whether it still uses the arena */
};

struct remains {
	char path[REMAINS_PATH_BYTES];
	int fd;
	struct stat stat;    /* of the file, when it was opened */
	pid_t pid;           /* its process's number here, when last found; see remains_pid() */
	struct arena *arena; /* all of it; the constants are a copy that was checked */
	uint64_t bytes;
	const char *fault; /* the damaged part, when it was not recovered for that; else NULL */
};

/*
 * Opens an arena's file, or -errno.
 *
 *   -EPERM     another user's, and this one is not root
 *   -EINVAL    no arena, or damaged
 *   -EPROTO    of another version of the recorder
 *   -EAGAIN    its process is just making it
 */
int remains_open(struct remains *remains, const char *path);
/* The same for one that looks only: whatever is written there ends this command. */
int remains_open_to_read(struct remains *remains, const char *path);
void remains_close(struct remains *remains);

/* Looks anew at the part that is a copy, as the arena may have become larger. 0, or -errno: it is
 * as it was. */
int remains_renew(struct remains *remains);

enum remains_state remains_state(struct remains *remains);
/* The number of its process here, which is another than the process's own if it has a pid name
 * space of its own. 0: it is dead. -1: nobody may know. */
pid_t remains_pid(struct remains *remains);
/* Whether its process was started to be followed: it listens in the session's directory. Anybody
 * can say so. Another user's must have the number that only the session's environment tells. */
bool remains_is_of_session(const struct remains *remains, const char *directory, uint64_t session);
/* As long as it is open here, nobody removes it for want of room, or recovers it. False: somebody
 * looks at it for that just now, so it must be tried again. */
bool remains_hold(const struct remains *remains);
/* Events that no dump has handed out yet. */
uint64_t remains_pending(const struct remains *remains);
/* How many bytes of chunks these take. */
uint64_t remains_pending_bytes(const struct remains *remains);
/* How many of those it has room for, with what its process leaves to it for now. */
uint64_t remains_room(const struct remains *remains);
/* Bytes of memory that it takes. */
uint64_t remains_memory(const struct remains *remains);

/*
 * Writes an arena's dump to the sink, and counts it as handed out when the sink took all of it;
 * not with `keep`. A living process is drained like this only if its control socket cannot be had.
 * Libraries and names of threads that are newer than its recording are not known from here.
 *
 *   -EBUSY     another process is at it
 *   -EINVAL    the arena is damaged
 *   -ESTALE    the file became shorter meanwhile
 *   others     the sink's
 */
int remains_recover(struct remains *remains, client_sink *sink, void *context, bool keep);
int remains_drain_living(struct remains *remains, client_sink *sink, void *context);
/* Removes the file. */
int remains_remove(const struct remains *remains);

/* The pid name space of the process of a file that may be of another version; 0: not known. */
uint64_t remains_namespace(const char *path);

/* Files that have an arena's name, in order of pid and generation. They are this user's; with
 * `others`, root sees everybody's. The caller frees the list; NULL with *count 0: none. */
struct remains_name {
	char path[REMAINS_PATH_BYTES];
	pid_t pid;
	uint64_t start_ticks;
	uint32_t generation;
	bool is_own; /* this user's file */
};
struct remains_name *remains_list(size_t *count, bool others);

#endif
