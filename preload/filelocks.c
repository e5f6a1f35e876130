/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes on calls for locks on files. See filelocks.h.
 *
 * Bytes are counted from the file's begin: those of a call may count from elsewhere. Threads: any.
 */
#include <errno.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "filelocks.h"

static void note(uint64_t op, int fd, const char *what, int64_t from, int64_t bytes)
{
	struct self *self = op ? hook_enter() : NULL;
	if (!self)
		return;
	if (bytes < 0) {
		from += bytes;
		bytes = -bytes;
	}
	op_set_file_lock(self, op, fd, what, (uint64_t)from, (uint64_t)bytes);
	self_leave(self);
}

/* Where the descriptor stands, or its file ends, which is looked for by no other call. */
static int64_t place_of(int fd, int whence)
{
	struct stat status;
	if (whence == SEEK_SET)
		return 0;
	if (whence == SEEK_CUR)
		return real.syscall(SYS_lseek, fd, 0, SEEK_CUR, 0, 0, 0);
	return real.syscall(SYS_fstat, fd, (long)&status, 0, 0, 0, 0) == 0 ? status.st_size : -1;
}

/* With errno as it was, whatever becomes of that. */
static int64_t place_quietly(int fd, int whence)
{
	int before = errno;
	int64_t place = place_of(fd, whence);
	errno = before;
	return place;
}

/* A lock that another one has, or none: the call was understood. */
static bool was_read(int result)
{
	return result == 0 || errno == EAGAIN || errno == EACCES || errno == EINTR ||
	       errno == EDEADLK;
}

/* How a lock is asked for: of the process or of the open file, and whether the call may wait. */
struct asking {
	int type;
	bool is_files;
	bool is_try;
};

static const char *word_of(struct asking asking)
{
	static const char *const words[2][5] = {
		{ "file-lock none", "file-lock read", "file-lock write", "file-lock try-read",
		  "file-lock try-write" },
		{ "open-lock none", "open-lock read", "open-lock write", "open-lock try-read",
		  "open-lock try-write" },
	};
	if (asking.type == F_UNLCK)
		return words[asking.is_files][0];
	return words[asking.is_files][(asking.type == F_RDLCK ? 1 : 2) + 2 * asking.is_try];
}

void file_lock_note(uint64_t op, int result, int fd, int command, const struct flock *lock)
{
	if (op == 0 || !was_read(result))
		return;
	int64_t place = place_quietly(fd, lock->l_whence);
	struct asking asking = { lock->l_type, command == F_OFD_SETLK || command == F_OFD_SETLKW,
				 command == F_SETLK || command == F_OFD_SETLK };
	if (place >= 0)
		note(op, fd, word_of(asking), place + lock->l_start, lock->l_len);
}

void file_lock_note_lockf(uint64_t op, int result, int fd, int operation, off_t size)
{
	if (op == 0 || operation == F_TEST || !was_read(result))
		return;
	int64_t place = place_quietly(fd, SEEK_CUR);
	struct asking asking = { operation == F_ULOCK ? F_UNLCK : F_WRLCK, false,
				 operation == F_TLOCK };
	if (place >= 0)
		note(op, fd, word_of(asking), place, size);
}

void file_lock_note_flock(uint64_t op, int fd, int operation)
{
	static const char *const words[] = { "flock write", "flock read", "flock try-write",
					     "flock try-read" };
	int word = (operation & LOCK_SH ? 1 : 0) + (operation & LOCK_NB ? 2 : 0);
	if (operation & (LOCK_SH | LOCK_EX | LOCK_UN))
		note(op, fd, operation & LOCK_UN ? "flock none" : words[word], 0, 0);
}
