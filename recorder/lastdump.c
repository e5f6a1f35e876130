/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump that a process writes at its end. See lastdump.h.
 *
 * Runs on the thread that ends the process, perhaps in a signal handler, by raw system calls. A
 * dump that cannot be written whole is taken back, and stays in the arena. No signal of ours
 * reaches the program, and nothing here waits without a limit.
 */
#include "lastdump.h"

#include <errno.h>
#include <sys/mman.h>

#include "dump.h"
#include "gate.h"
#include "held.h"
#include "options.h"
#include "outfile.h"
#include "strings.h"
#include "syscalls.h"

#include "in_target.h"

/* Mapped for the time of a dump: the program's stack may have no room for it. */
struct workplace {
	struct dump dump;
	struct stat before, after; /* of the file */
	char path[OPTION_PATH_BYTES];
	char buffer[DUMP_BUFFER_BYTES];
};

enum { TRIES = 10000, PAUSE_NS = 1000000, READER_TIMEOUT_MS = 10000 };

/* WCPROF_OUTPUT with %e, %p and %% replaced; false when it is too long. */
static bool expand_output(const struct arena *arena, char *path, size_t size)
{
	struct text text = { .bytes = path, .size = size };
	uint32_t program_bytes = 0;
	const char *program = strings_get(arena, arena->exe_name, &program_bytes);

	for (const char *at = recorder_options.output; *at; at++) {
		if (*at != '%') {
			text_put_bytes(&text, at, 1);
			continue;
		}
		at++;
		if (*at == 'e')
			text_put_bytes(&text, program, program_bytes);
		else if (*at == 'p')
			text_put_u64(&text, arena->pid);
		else
			text_put_literal(&text, "%");
		if (*at == '\0')
			break;
	}
	return text_end(&text);
}

/* To a pipe, too, whose reader may be slow, but not for ever. */
static bool write_all(int fd, const char *from, size_t bytes)
{
	while (bytes > 0) {
		struct pollfd poll = { .fd = fd, .events = POLLOUT };
		long written = sys_write(fd, from, bytes);

		if (written == -EINTR)
			continue;
		if (written == -EAGAIN && sys_poll(&poll, 1, READER_TIMEOUT_MS) == 1)
			continue;
		if (written <= 0)
			return false;
		from += written;
		bytes -= (size_t)written;
	}
	return true;
}

static bool write_dump(struct workplace *workplace, int fd)
{
	struct dump *dump = &workplace->dump;
	const struct stat *before = &workplace->before, *after = &workplace->after;
	off_t bytes = 0;
	bool done = sys_fstat(fd, &workplace->before) == 0;

	while (done && dump_fill(dump)) {
		done = write_all(fd, dump->text.bytes, dump->text.used);
		bytes += done ? (off_t)dump->text.used : 0;
	}
	/* Half a dump is none; but what another process has written after ours stays. */
	if (!done && S_ISREG(before->st_mode) && sys_fstat(fd, &workplace->after) == 0 &&
	    after->st_size < before->st_size + bytes + DUMP_BUFFER_BYTES)
		(void)sys_ftruncate(fd, (uint64_t)before->st_size);
	return done;
}

/* Opened for appending: several images of one process write their dumps one after the other. Not
 * blocking: nobody may read from a pipe. */
static bool dump_to_file(struct workplace *workplace)
{
	struct dump *dump = &workplace->dump;
	struct held_signals held;
	int fd = -ENAMETOOLONG;
	bool done = false, is_quiet;

	if (expand_output(dump->arena, workplace->path, sizeof(workplace->path)))
		fd = outfile_open(workplace->path, O_APPEND | O_NONBLOCK);
	if (fd >= 0) {
		held_begin(&held);
		done = write_dump(workplace, fd);
		held_end(&held);
		sys_close(fd);
	}
	is_quiet = done || !gate_is_the_users();
	if (!is_quiet)
		text_complain("cannot write the dump to", recorder_options.output);
	if (!is_quiet && fd == -EPERM)
		text_complain(OUTFILE_WHY, "");
	if (!is_quiet && !dump->arena->anonymous)
		text_complain("it stays in shared memory, wcprof recover writes it:",
			      dump->arena->path);
	return done;
}

/* A signal handler may end the process in the middle of this thread's own dump. */
static bool is_drainer(const struct arena *arena)
{
	return load_relaxed(&arena->drain_owner) == (uint32_t)sys_gettid();
}

/* Becomes the drainer; asks who is it now to give way, and does not wait for ever. */
static bool begin_dump(struct workplace *workplace, struct arena *arena)
{
	int result = -EBUSY;

	store_relaxed(&arena->drain_wanted, 1);
	for (int i = 0; i < TRIES && result == -EBUSY && !is_drainer(arena); i++) {
		result = dump_begin(&workplace->dump, arena, workplace->buffer, DUMP_BUFFER_BYTES,
				    DUMP_AT_END);
		if (result == -EBUSY)
			sys_pause_ns(PAUSE_NS);
	}
	store_relaxed(&arena->drain_wanted, 0);
	return result == 0;
}

bool lastdump_write(struct arena *arena)
{
	struct workplace *workplace;
	struct dump *dump;
	bool done = true;

	if (!recorder_options.output[0])
		return snapshot_pending(arena) == 0 && !recorder_options.keep;
	workplace = sys_mmap(NULL, sizeof(*workplace), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (sys_is_error(workplace))
		return false;
	dump = &workplace->dump;
	if (!begin_dump(workplace, arena)) {
		text_complain("another dump is being written:", "none at exit");
		done = false;
	} else if (dump->snapshot.event_count > 0 || arena->dump_count == 0) {
		done = dump_to_file(workplace);
		dump_end(dump, done);
	} else {
		dump_end(dump, false);
	}
	sys_munmap(workplace, sizeof(*workplace));
	return done;
}
