/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads' waits for a CPU. See delays.h.
 *
 * The second number in a thread's schedstat file: nanoseconds on run queues. Reading it takes some
 * 5 us, so it is done for a few threads at a time, in turn. Known race: a thread may end while its
 * file is read, and the figure go to its slot when the next thread is in it. Until the next turn
 * that thread's marks carry it.
 */
#include "delays.h"

#include <string.h>

#include "roster.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

enum { THREADS_AT_A_TICK = 16, PATH_BYTES = 48 };

static uint64_t due_ns;
static uint32_t next_slot;

/* False when the thread is gone, or the kernel does not count. */
static bool read_delay(uint32_t tid, uint64_t *delay_ns)
{
	char path[PATH_BYTES], line[96];
	struct text text = { .bytes = path, .size = sizeof(path) };
	const char *at;
	long got;
	int fd;

	text_put_literal(&text, "/proc/self/task/");
	text_put_u64(&text, tid);
	text_put_literal(&text, "/schedstat");
	(void)text_end(&text);
	fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	got = sys_read(fd, line, sizeof(line) - 1);
	sys_close(fd);
	line[got > 0 ? got : 0] = '\0';
	at = strchr(line, ' ');
	return at && text_parse_u64(at + 1, strcspn(at + 1, " "), delay_ns);
}

void delays_update(struct slot *slot)
{
	uint32_t thread = load_acquire(&slot->thread);
	uint64_t delay_ns;

	if (thread && read_delay(load_relaxed(&slot->tid), &delay_ns) &&
	    load_acquire(&slot->thread) == thread)
		store_relaxed(&slot->delay_ns, delay_ns);
}

void delays_update_all(struct arena *arena)
{
	uint32_t slots = roster_made(arena);

	for (uint32_t i = 0; i < slots; i++)
		delays_update(roster_slot(arena, i));
}

void delays_tick(struct arena *arena, uint64_t now_ns)
{
	uint32_t slots = roster_made(arena);

	if (now_ns < due_ns)
		return;
	due_ns = now_ns + DELAYS_TICK_MS * UINT64_C(1000000);
	for (uint32_t i = 0; i < THREADS_AT_A_TICK && i < slots; i++)
		delays_update(roster_slot(arena, next_slot++ % slots));
}
