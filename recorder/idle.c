/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle time of CPUs. See idle.h.
 *
 * The fourth and fifth number of a CPU in /proc/stat: idle, and idle while a disk works. The kernel
 * takes both from a clock when a CPU goes idle and comes back. The other numbers are counted by
 * ticks, and are wrong for whatever is shorter. The file costs some 12 us on two CPUs, and more on
 * many: it is read the more seldom the longer it took. When the table is full every second entry
 * goes, and the pace is halved.
 *
 * Known race: a reader from outside, while entries go, may see a time with another one's idle time.
 * It is off by an interval then.
 */
#include "idle.h"

#include "clock.h"
#include "syscalls.h"

#include "in_target.h"

enum {
	TICK_MS = 100,
	COST_TIMES = 200,  /* so much longer than a look is what lies between two */
	PIECE_BYTES = 160, /* whoever ends the process has little stack */
	IDLE_FIELD = 4,
	IOWAIT_FIELD = 5,
	STAT_TICK_NS = 10000000
};

static uint64_t due_ns;
static uint64_t retry_ns; /* the last look has failed: the first entry waits until then */

static bool counts(const struct idle_scan *scan)
{
	return scan->cpu < IDLE_CPUS_MAX && (scan->mask[scan->cpu / 64] >> scan->cpu % 64 & 1);
}

static void field_ends(struct idle_scan *scan)
{
	if (scan->has_cpu && (scan->field == IDLE_FIELD || scan->field == IOWAIT_FIELD) &&
	    counts(scan))
		scan->idle_ticks += scan->number;
	if (scan->has_cpu && scan->field == IDLE_FIELD)
		scan->cpus_seen += counts(scan);
	scan->number = 0;
	scan->field++;
}

static void line_ends(struct idle_scan *scan)
{
	field_ends(scan);
	scan->field = scan->letters = scan->cpu = 0;
	scan->has_cpu = false;
}

/* "cpu7": the first line's word has no number. */
static void scan_name(struct idle_scan *scan, char byte)
{
	if (byte >= '0' && byte <= '9') {
		scan->has_cpu = true;
		scan->cpu = scan->cpu < IDLE_CPUS_MAX ? scan->cpu * 10 + (uint32_t)(byte - '0')
						      : scan->cpu;
	} else if (scan->letters >= 3 || byte != "cpu"[scan->letters++]) {
		scan->is_over = true;
	}
}

void idle_scan(struct idle_scan *scan, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count && !scan->is_over; i++) {
		if (bytes[i] == '\n')
			line_ends(scan);
		else if (bytes[i] == ' ')
			/* there are two after the first line's word, which is none of one CPU */
			field_ends(scan);
		else if (scan->field == 0)
			scan_name(scan, bytes[i]);
		else
			scan->number = scan->number * 10 + (uint64_t)(bytes[i] - '0');
	}
}

/* False: there is no such file here, or not all of the CPUs are in it. */
static bool read_idle(const struct arena *arena, uint64_t *idle_ns)
{
	struct idle_scan scan = { .mask = arena->cpu_mask };
	char piece[PIECE_BYTES];
	long got = 1;
	int fd = sys_open("/proc/stat", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	while (!scan.is_over && got > 0) {
		got = sys_read(fd, piece, sizeof(piece));
		idle_scan(&scan, piece, got > 0 ? (size_t)got : 0);
	}
	sys_close(fd);
	*idle_ns = scan.idle_ticks * STAT_TICK_NS;
	return scan.cpus_seen == arena->cpus;
}

/* Every second one stays, and the last. */
static void thin_out(struct arena *arena)
{
	uint32_t count = load_relaxed(&arena->idle_count);

	for (uint32_t i = 1; i < count / 2; i++) {
		store_relaxed(&arena->idles[i].ticks, arena->idles[2 * i].ticks);
		store_relaxed(&arena->idles[i].idle_ns, arena->idles[2 * i].idle_ns);
	}
	store_release(&arena->idle_count, count / 2);
	add_relaxed(&arena->idle_doublings, 1);
}

void idle_note(struct arena *arena, uint64_t now_ns)
{
	uint64_t idle_ns, ticks = clock_now_ticks(), begin_ns = clock_mono_ns(), next_ns, least_ns;
	bool is_known;
	uint32_t count = load_relaxed(&arena->idle_count);
	uint32_t doublings = load_relaxed(&arena->idle_doublings) & 31;

	next_ns = now_ns + ((uint64_t)TICK_MS * 1000000 << doublings);
	store_relaxed(&due_ns, next_ns);
	if (count >= IDLES_MAX)
		return;
	is_known = read_idle(arena, &idle_ns);
	least_ns = now_ns + (clock_mono_ns() - begin_ns) * COST_TIMES;
	next_ns = next_ns > least_ns ? next_ns : least_ns;
	store_relaxed(&due_ns, next_ns);
	store_relaxed(&retry_ns, is_known ? 0 : next_ns);
	if (!is_known)
		return;
	store_relaxed(&arena->idles[count].ticks, ticks);
	store_relaxed(&arena->idles[count].idle_ns, idle_ns);
	/* Pairs with idle_count(): the entry is whole. */
	store_release(&arena->idle_count, count + 1);
	if (count + 1 == IDLES_MAX)
		thin_out(arena);
}

void idle_tick(struct arena *arena, uint64_t now_ns)
{
	bool is_first = load_relaxed(&arena->idle_count) == 0 && now_ns >= load_relaxed(&retry_ns);

	if (is_first || now_ns >= load_relaxed(&due_ns))
		idle_note(arena, now_ns);
}

uint32_t idle_count(const struct arena *arena)
{
	uint32_t count = load_acquire(&arena->idle_count);

	return count < IDLES_MAX ? count : IDLES_MAX;
}

bool idle_next(const struct arena *arena, uint32_t index, struct idle_entry *last)
{
	const struct idle_entry entry = { load_relaxed(&arena->idles[index].ticks),
					  load_relaxed(&arena->idles[index].idle_ns) };

	if (entry.ticks <= last->ticks || entry.idle_ns < last->idle_ns)
		return false;
	*last = entry;
	return true;
}
