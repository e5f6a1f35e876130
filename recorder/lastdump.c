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
#include <signal.h>
#include <sys/mman.h>

#include "dump.h"
#include "gate.h"
#include "options.h"
#include "strings.h"
#include "syscalls.h"

#include "in_target.h"

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

static bool write_dump(struct dump *dump, int fd)
{
	struct stat before = { .st_size = 0 }, after = { .st_size = 0 };
	off_t bytes = 0;
	bool done = sys_fstat(fd, &before) == 0;

	while (done && dump_fill(dump)) {
		done = write_all(fd, dump->text.bytes, dump->text.used);
		bytes += done ? (off_t)dump->text.used : 0;
	}
	/* Half a dump is none; but what another process has written after ours stays. */
	if (!done && S_ISREG(before.st_mode) && sys_fstat(fd, &after) == 0 &&
	    after.st_size < before.st_size + bytes + DUMP_BUFFER_BYTES)
		(void)sys_ftruncate(fd, (uint64_t)before.st_size);
	return done;
}

/* Signals that a write may bring: a file that may not grow, a pipe that nobody reads. Without us
 * the program would not have got them. */
#define WRITE_SIGNALS (UINT64_C(1) << (SIGXFSZ - 1) | UINT64_C(1) << (SIGPIPE - 1))

struct held_signals {
	uint64_t mask;    /* as it was */
	uint64_t pending; /* the program's own */
};

static void hold_signals(struct held_signals *held)
{
	uint64_t held_back = WRITE_SIGNALS;

	sys_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&held_back, (long)&held->mask, 8, 0, 0);
	held->pending = 0;
	(void)SYS3(rt_sigpending, &held->pending, 8, 0);
}

static void drop_signals(const struct held_signals *held)
{
	uint64_t ours = WRITE_SIGNALS & ~held->pending;
	const struct timespec now = { 0, 0 };

	while (sys_call(SYS_rt_sigtimedwait, (long)&ours, 0, (long)&now, 8, 0, 0) > 0)
		continue;
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&held->mask, 0, 8, 0, 0);
}

/* Opened for appending: several images of one process write their dumps one after the other. Not
 * blocking: nobody may read from a pipe. */
static bool dump_to_file(struct dump *dump)
{
	const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct held_signals held;
	char path[OPTION_PATH_BYTES];
	int fd = -ENAMETOOLONG;
	bool done = false, is_quiet;

	if (expand_output(dump->arena, path, sizeof(path)))
		fd = sys_open(path, flags, 0600);
	if (fd >= 0) {
		hold_signals(&held);
		done = write_dump(dump, fd);
		drop_signals(&held);
		sys_close(fd);
	}
	is_quiet = done || !gate_is_the_users();
	if (!is_quiet)
		text_complain("cannot write the dump to", recorder_options.output);
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
static bool begin_dump(struct dump *dump, struct arena *arena, char *buffer)
{
	int result = -EBUSY;

	store_relaxed(&arena->drain_wanted, 1);
	for (int i = 0; i < TRIES && result == -EBUSY && !is_drainer(arena); i++) {
		result = dump_begin(dump, arena, buffer, DUMP_BUFFER_BYTES, DUMP_AT_END);
		if (result == -EBUSY)
			sys_pause_ns(PAUSE_NS);
	}
	store_relaxed(&arena->drain_wanted, 0);
	return result == 0;
}

bool lastdump_write(struct arena *arena)
{
	struct dump dump;
	char *buffer;
	bool done = true;

	if (!recorder_options.output[0])
		return snapshot_pending(arena) == 0 && !recorder_options.keep;
	buffer = sys_mmap(NULL, DUMP_BUFFER_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (sys_is_error(buffer))
		return false;
	if (!begin_dump(&dump, arena, buffer)) {
		text_complain("another dump is being written:", "none at exit");
		done = false;
	} else if (dump.snapshot.event_count > 0 || arena->dump_count == 0) {
		done = dump_to_file(&dump);
		dump_end(&dump, done);
	} else {
		dump_end(&dump, false);
	}
	sys_munmap(buffer, DUMP_BUFFER_BYTES);
	return done;
}
