/* SPDX-License-Identifier: Apache-2.0 */
/* Strings for locks on files. See filelocks.h. */
#include "filelocks.h"

#include "descriptors.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

enum { FILE_LOCK_BYTES = 112 };

uint32_t file_lock_name(int fd, const char *what, uint64_t from, uint64_t bytes)
{
	char room[FILE_LOCK_BYTES];
	struct text text = { .bytes = room, .size = sizeof(room) };
	struct stat stat;

	if (descriptors_are_crowded() || sys_fstat(fd, &stat) != 0)
		return 0;
	text_put(&text, what);
	text_put_literal(&text, " ");
	text_put_u64(&text, from);
	text_put_literal(&text, "+");
	text_put_u64(&text, bytes);
	text_put_literal(&text, " of ");
	text_put_u64(&text, stat.st_dev);
	text_put_literal(&text, ":");
	text_put_u64(&text, stat.st_ino);
	return string_intern(room, text.used);
}
