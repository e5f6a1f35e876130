/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipes that this process can write to as it ends. See pipes.h.
 *
 * Programs inherit pipes that they never use, and no call of theirs shows. Descriptors are small
 * numbers: those far beyond all others are not found. Runs on the thread that ends the process.
 */
#include "pipes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "atomics.h"
#include "descriptors.h"
#include "record.h"
#include "syscalls.h"

#include "in_target.h"

enum { LOOKED_AT_MAX = 1024, GAP_MAX = 32 };

static bool is_pipe(int fd)
{
	struct stat status;

	return sys_fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* Not open for writing: 0. */
static uint32_t pipe_at(struct self *self, int fd, bool *is_open)
{
	long mode = SYS3(fcntl, fd, F_GETFL, 0);

	*is_open = mode >= 0;
	if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY || !is_pipe(fd))
		return 0;
	return (uint32_t)descriptors_get(self, fd);
}

void pipes_end(void)
{
	struct self *self = load_relaxed(&recorder_gate.mode) == GATE_ON ? self_enter() : NULL;
	int end = GAP_MAX;
	bool is_open;

	if (!self)
		return;
	for (int fd = 0; fd < end && fd < LOOKED_AT_MAX; fd++) {
		uint32_t ident = pipe_at(self, fd, &is_open);

		if (ident != 0)
			link_record(self, LINK_LEAVE, 0, NULL, ident, 0);
		if (is_open)
			end = fd + 1 + GAP_MAX;
	}
	self_leave(self);
}
