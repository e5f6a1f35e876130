/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that find locks on files, and private to them: filelocks_calls.c finds the
 * calls, filelocks.c the holds and waits. One thread.
 */
#ifndef WCPROF_FILELOCKS_PARTS_H
#define WCPROF_FILELOCKS_PARTS_H

#include "filelocks.h"

enum mode { MODE_NONE, MODE_READ, MODE_WRITE };

/* One call for a lock, or a close. */
struct file_call {
	uint64_t at_ns; /* when it took effect */
	uint64_t from;  /* bytes, the end not included */
	uint64_t to;
	uint64_t device;
	uint64_t inode;
	uint32_t op;
	uint32_t process;
	int32_t fd;
	uint8_t space; /* spaces of locks that know nothing of each other */
	uint8_t mode;
	bool is_files; /* the lock is an open file's */
	bool is_try;
	bool has_failed;
	bool is_close;
};

struct file_calls {
	struct file_call *calls;
	size_t count;
	size_t capacity;
};

/* In order of file, then time; unlocks first. To be freed. */
void file_calls_find(struct file_calls *, const struct recording *);

/* 0: both are about locks of one file that know of each other. */
int file_calls_compare(const struct file_call *, const struct file_call *);

#endif
