/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One descriptor, described in words that are equal for equal things, or exchanged at the other
 * end:
 *
 *	tcp LOCAL>PEER          connected; at the other end PEER>LOCAL (udp likewise)
 *	tcp listen LOCAL
 *	unix:[INODE]>[PEER]     of a socketpair() that was seen; unix:[INODE] of one that was not
 *	unix PATH#INODE         connected through PATH (@NAME: an abstract one); unix listen PATH
 *	pipe:[INODE]            both ends of it
 *	eventfd:[PID:N]         by the process that made it, or was the first to be seen with it
 *	file PATH               as it was opened, if that was seen and is absolute, else without
 *	                        links; digits are folded: /proc/17/stat is /proc/N/stat
 *	tty, epoll, timerfd, …  one of many
 *
 * Datagram and sequenced sockets of the unix kind begin with "unix dgram", "unix seqpacket". When
 * the arena has little room for more names, parts that are one descriptor's alone are left out.
 * Then it is tcp LOCAL>*, tcp *>PEER, unix PATH, unix, pipe, file DIRECTORY/.
 *
 * Any thread; makes no descriptor, not even for a moment. A description is larger than the room
 * that may be left on a program's stack.
 */
#ifndef WCPROF_DESCRIPTION_H
#define WCPROF_DESCRIPTION_H

#include <sys/stat.h>

#include "endpoint.h"
#include "text.h"

enum {
	DESCRIPTION_BYTES = 640,
	DESCRIPTION_LINK_BYTES = 512 /* longer ones are cut */
};

struct description {
	struct text text; /* empty: there is no such descriptor */
	bool is_crowded;  /* no more names that only one descriptor has */
	bool is_accepted; /* its peer is a client; may be set before it is made */
	bool is_passing;  /* will be another thing soon: a socket not yet connected, or bound */
	uint32_t lonely;  /* inode of a unix socket whose peer is not known, the first time; or 0 */
	const char *path; /* set before: what it was opened by, or NULL */
	uint64_t *origin; /* set before: where is kept which eventfd it is, or NULL */
	const void *peer; /* set before: the address that it is being connected to, or NULL */
	size_t peer_bytes;
	char bytes[DESCRIPTION_BYTES];
	struct stat status; /* this and what follows: while it is made */
	struct endpoint local_end, peer_end, other_end;
	char link[DESCRIPTION_LINK_BYTES];
};

void description_begin(struct description *, bool is_crowded) HIDDEN;
void description_make(struct description *, int fd) HIDDEN;
/* Notes that these are the two ends of one socketpair(), also for processes forked later. */
void description_pair(int fd, int other) HIDDEN;
/* Which eventfd comes next: the process's number << 32, and a count. */
uint64_t description_next_origin(void) HIDDEN;
/* Another recording begins. */
void description_forget(void) HIDDEN;

#endif
