/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes on calls for locks on files: the file, the bytes, and how it was to be locked.
 *
 * Called while the call's op is open, after the real call: the kernel has read the program's memory
 * by then. errno stays. `op` 0: nothing is noted.
 */
#ifndef WCPROF_FILELOCKS_HOOKS_H
#define WCPROF_FILELOCKS_HOOKS_H

#include "hooks.h"

/* Of fcntl(): whether this command takes a lock or gives it back. */
static inline bool file_lock_is_asked(int command)
{
	return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
	       command == F_OFD_SETLKW;
}

void file_lock_note(uint64_t op, int result, int fd, int command, const struct flock *lock) HIDDEN;
void file_lock_note_lockf(uint64_t op, int result, int fd, int operation, off_t size) HIDDEN;
void file_lock_note_flock(uint64_t op, int fd, int operation) HIDDEN;

#endif
