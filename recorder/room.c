/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounds of the arena's memory. See room.h.
 *
 * One look allows a grant, from which room_take() takes without a system call. A grant is a small
 * part of what is spare: thirty processes that look at the same moment do not take it all.
 */
#include "room.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include "arena.h"
#include "clock.h"
#include "spare.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

enum {
	/* An eighth of a limit is left alone, but not more than this. */
	RESERVE_PART = 8,
	RESERVE_BYTES_MOST = 1 << 30,
	MEMORY_PART = 8,
	FILES_PART = 4,
	ADDRESSES_PART = 16,
	/* The part that one look allows, of what is spare. */
	GRANT_PART = 32,
	GRANT_BYTES_MOST = 1 << 30,
	/* Less is of no use: names and stacks alone take as much. */
	ARENA_BYTES_LEAST = 1 << 20,
	/* An arena that has only some of its first names is none: these it takes at once. */
	FIRST_BYTES = 1 << 19,
	/* Several processes that begin at once take that much each. */
	SPARE_BYTES_LEAST = 8 * FIRST_BYTES,
	PAGE_BYTES = 4096
};

static const uint64_t wanted_ns = 20000000;  /* so often while somebody is refused */
static const uint64_t look_ns = 100000000;   /* so often while memory is taken */
static const uint64_t idle_ns = 1000000000;  /* so often at most otherwise */
static const uint64_t kept_ns = 1000000000;  /* since the last tick: the control thread looks */
static const uint64_t find_ns = 10000000000; /* a process may be put into another cgroup */
static const uint64_t unlimited = UINT64_C(1) << 62;

/* Whoever has `owner` looks, and writes what follows; `grant` anybody lessens. */
static struct {
	uint32_t owner;
	uint32_t rule;    /* enum room_rule */
	uint64_t grant;   /* bytes that may be taken without looking */
	uint64_t granted; /* by the last look */
	uint64_t spare;   /* the smallest one, as of then */
	uint64_t limit;   /* the smallest one, as of then */
	uint64_t more;    /* bytes that the arena may take in all, as of then */
	uint64_t looked_ns;
	uint64_t found_ns;  /* when the cgroups were looked for; 0 = not yet */
	uint64_t ticked_ns; /* the control thread's last tick */
	uint32_t is_wanted; /* somebody was refused since the last look */
	uint32_t is_cut;    /* the arena is smaller than was asked for, to save addresses */
	struct cgroups cgroups;
} room;

/* --- Bounds ----------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct room_bound bound_of(enum room_rule rule, uint64_t limit, uint64_t left, uint64_t own,
				  uint64_t part)
{
	uint64_t reserve = least(limit / RESERVE_PART, RESERVE_BYTES_MOST);
	uint64_t spare = left > reserve ? left - reserve : 0;

	return (struct room_bound){ .rule = rule,
				    .limit_bytes = limit,
				    .left_bytes = left,
				    .spare_bytes = spare,
				    .share_bytes = least((left + own) / part, own + spare) };
}

struct asked {
	uint64_t own_bytes;
	room_taker *take;
	void *context;
};

static void take_cgroup(void *context, uint64_t limit, uint64_t left)
{
	const struct asked *asked = context;
	struct room_bound bound = bound_of(ROOM_CGROUP, limit, left, asked->own_bytes, MEMORY_PART);

	asked->take(asked->context, &bound);
}

/* "MemTotal:       24105000 kB" */
static bool read_kilobytes(const char *line, const char *key, uint64_t *bytes)
{
	size_t length = strlen(key);
	uint64_t kilobytes;

	if (strncmp(line, key, length) != 0)
		return false;
	line += length + strspn(line + length, " ");
	if (text_parse_u64(line, strcspn(line, " "), &kilobytes))
		*bytes = kilobytes << 10;
	return true;
}

static void take_machine(struct lines *lines, const struct asked *asked)
{
	uint64_t total = 0, left = unlimited;
	struct room_bound bound;
	const char *line;

	if (!lines_open(lines, "/proc/meminfo"))
		return;
	while (left == unlimited && (line = lines_next(lines)) != NULL)
		if (!read_kilobytes(line, "MemTotal:", &total))
			(void)read_kilobytes(line, "MemAvailable:", &left);
	lines_close(lines);
	if (total == 0 || left == unlimited)
		return;
	bound = bound_of(ROOM_MACHINE, total, left, asked->own_bytes, MEMORY_PART);
	asked->take(asked->context, &bound);
}

/* One without a size of its own has no blocks: it is bounded by the machine. */
static void take_files(const struct asked *asked)
{
	struct room_bound bound;
	struct statfs files;

	if (SYS3(statfs, ARENA_DIRECTORY, &files, 0) != 0 || files.f_blocks == 0)
		return;
	bound = bound_of(ROOM_FILES, files.f_blocks * (uint64_t)files.f_bsize,
			 files.f_bavail * (uint64_t)files.f_bsize, asked->own_bytes, FILES_PART);
	asked->take(asked->context, &bound);
}

void room_each(struct cgroups *cgroups, uint64_t own_bytes, room_taker *take, void *context)
{
	struct asked asked = { own_bytes, take, context };

	cgroups_each(cgroups, take_cgroup, &asked);
	take_machine(&cgroups->lines, &asked);
	take_files(&asked);
}

/* Pages that the process has by one field of /proc/self/statm, counted from 0; 0: not known. */
static uint64_t read_pages(struct lines *lines, int field)
{
	uint64_t pages = 0;
	char text[256];
	const char *at = text;
	long got;

	if (!lines_open(lines, "/proc/self/statm"))
		return 0;
	got = sys_read(lines->fd, text, sizeof(text) - 1);
	lines_close(lines);
	text[got > 0 ? got : 0] = '\0';
	for (; field > 0; field--)
		at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ');
	(void)text_parse_u64(at, strspn(at, "0123456789"), &pages);
	return pages;
}

static void bound_addresses(struct lines *lines, int resource, int field, struct room_bound *bound)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	uint64_t used, left;

	if (sys_call(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) != 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return;
	used = read_pages(lines, field) * PAGE_BYTES;
	left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
	if (bound->rule != ROOM_FREE && bound->left_bytes <= left)
		return;
	*bound = (struct room_bound){ .rule = ROOM_ADDRESSES,
				      .limit_bytes = limit.rlim_cur,
				      .left_bytes = left,
				      .spare_bytes = left / ADDRESSES_PART,
				      .share_bytes = left / ADDRESSES_PART };
}

struct room_bound room_for_addresses(struct lines *lines, bool is_private)
{
	enum { FIELD_SIZE = 0, FIELD_DATA = 5 };
	struct room_bound bound = { .rule = ROOM_FREE, .share_bytes = unlimited };

	bound_addresses(lines, RLIMIT_AS, FIELD_SIZE, &bound);
	if (is_private)
		bound_addresses(lines, RLIMIT_DATA, FIELD_DATA, &bound);
	return bound;
}

const char *room_name(enum room_rule rule)
{
	static const char *const names[ROOM_RULES] = {
		[ROOM_FREE] = "none",
		[ROOM_CGROUP] = "memory cgroup",
		[ROOM_MACHINE] = "memory of the machine",
		[ROOM_FILES] = ARENA_DIRECTORY,
		[ROOM_ADDRESSES] = "ulimit -v",
	};

	return names[rule];
}

uint64_t room_events(const struct room_bound *bound, uint64_t wanted_events)
{
	uint64_t events;

	if (bound->rule == ROOM_ADDRESSES)
		return arena_events_within(bound->share_bytes, wanted_events);
	if (bound->share_bytes < ARENA_BYTES_LEAST || bound->spare_bytes < SPARE_BYTES_LEAST)
		return 0;
	events = (bound->share_bytes - ARENA_BYTES_LEAST) / CHUNK_BYTES * CHUNK_RECORDS;
	return least(events, wanted_events);
}

const char *room_reason(void)
{
	static const char *const reasons[ROOM_RULES] = {
		[ROOM_FREE] = "no memory for a recording",
		[ROOM_CGROUP] = "too little memory is left in the memory cgroup (wcprof check)",
		[ROOM_MACHINE] = "too little memory is left in this machine (wcprof check)",
		[ROOM_FILES] = "too little is left in " ARENA_DIRECTORY " (wcprof check)",
		[ROOM_ADDRESSES] = "addresses are limited by ulimit -v (wcprof check)",
	};
	enum room_rule rule = ROOM_FREE;

	if (load_relaxed(&room.is_cut))
		rule = ROOM_ADDRESSES;
	else if (load_relaxed(&room.more) < ARENA_BYTES_LEAST ||
		 load_relaxed(&room.spare) < SPARE_BYTES_LEAST)
		rule = room_state().rule;
	return reasons[rule];
}

/* --- Looking ---------------------------------------------------------------------------------- */

struct narrowest {
	uint64_t own_bytes;
	uint64_t grant;
	uint64_t more;
	uint64_t spare;
	uint64_t limit;
	enum room_rule rule;
};

static void narrow(void *context, const struct room_bound *bound)
{
	struct narrowest *narrowest = context;
	uint64_t own = narrowest->own_bytes;
	uint64_t more = bound->share_bytes > own ? bound->share_bytes - own : 0;

	narrowest->grant = least(narrowest->grant, least(more, bound->spare_bytes / GRANT_PART));
	narrowest->spare = least(narrowest->spare, bound->spare_bytes);
	narrowest->limit = least(narrowest->limit, bound->limit_bytes);
	if (more >= narrowest->more)
		return;
	narrowest->more = more;
	narrowest->rule = bound->rule;
}

struct looking {
	uint64_t own_bytes;
	uint64_t now_ns;
};

static void look(uint64_t own_bytes, uint64_t now_ns)
{
	struct narrowest narrowest = { own_bytes, GRANT_BYTES_MOST, unlimited,
				       unlimited, unlimited,        ROOM_FREE };
	uint32_t nobody = 0;

	if (!cas_acq_rel(&room.owner, &nobody, 1))
		return;
	if (room.found_ns == 0 || now_ns - room.found_ns > find_ns) {
		cgroups_find(&room.cgroups, "memory", "/proc/self/cgroup", "/proc/self/mountinfo");
		room.found_ns = now_ns;
	}
	store_relaxed(&room.is_wanted, 0);
	room_each(&room.cgroups, own_bytes, narrow, &narrowest);
	store_relaxed(&room.rule, (uint32_t)narrowest.rule);
	store_relaxed(&room.more, narrowest.more);
	store_relaxed(&room.spare, narrowest.spare);
	store_relaxed(&room.limit, narrowest.limit);
	store_relaxed(&room.granted, narrowest.grant);
	store_relaxed(&room.looked_ns, now_ns);
	/* Memory that was taken since the look is in no count until the next one. */
	store_relaxed(&room.grant, narrowest.grant);
	/* Pairs with the exchange above. */
	store_release(&room.owner, 0);
}

static void look_by(void *argument)
{
	const struct looking *looking = argument;

	look(looking->own_bytes, looking->now_ns);
}

bool room_begin(void)
{
	look(0, clock_mono_ns());
	if (load_relaxed(&room.more) < ARENA_BYTES_LEAST ||
	    load_relaxed(&room.spare) < SPARE_BYTES_LEAST)
		return false;
	if (load_relaxed(&room.grant) < FIRST_BYTES)
		store_relaxed(&room.grant, FIRST_BYTES);
	return true;
}

uint64_t room_addresses(uint64_t wanted_bytes, bool is_private)
{
	uint32_t nobody = 0;
	uint64_t bytes;

	if (!cas_acq_rel(&room.owner, &nobody, 1))
		return 0;
	bytes = room_for_addresses(&room.cgroups.lines, is_private).share_bytes;
	store_relaxed(&room.is_cut, bytes < wanted_bytes);
	store_release(&room.owner, 0);
	return least(bytes, wanted_bytes);
}

static bool take(uint64_t bytes)
{
	uint64_t grant = load_relaxed(&room.grant);

	/* Relaxed would do: nothing else is passed on by it. */
	while (grant >= bytes)
		if (cas_acq_rel(&room.grant, &grant, grant - bytes))
			return true;
	return false;
}

bool room_take(uint64_t bytes, uint64_t own_bytes)
{
	struct looking looking = { .own_bytes = own_bytes };
	uint64_t pause_ns;

	if (LIKELY(take(bytes)))
		return true;
	store_relaxed(&room.is_wanted, 1);
	looking.now_ns = clock_mono_ns();
	pause_ns = load_relaxed(&room.granted) >= bytes ? wanted_ns : look_ns;
	if (looking.now_ns - load_relaxed(&room.ticked_ns) < kept_ns ||
	    looking.now_ns - load_relaxed(&room.looked_ns) < pause_ns)
		return false;
	/* The program's thread may be on a stack with little room. */
	return spare_call(look_by, &looking) && take(bytes);
}

void room_give(uint64_t bytes)
{
	add_relaxed(&room.grant, bytes);
}

void room_tend(uint64_t own_bytes)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t since_ns = now_ns - load_relaxed(&room.looked_ns);
	uint64_t grant = load_relaxed(&room.grant), granted = load_relaxed(&room.granted);

	store_relaxed(&room.ticked_ns, now_ns);
	if (grant < granted / 2 || since_ns >= idle_ns ||
	    (grant != granted && since_ns >= look_ns) ||
	    (load_relaxed(&room.is_wanted) && since_ns >= wanted_ns))
		look(own_bytes, now_ns);
}

void room_forget(void)
{
	room.owner = 0;
	room.grant = 0;
	room.looked_ns = 0;
	room.ticked_ns = 0;
	room.is_cut = 0;
}

struct room_state room_state(void)
{
	return (struct room_state){ (enum room_rule)load_relaxed(&room.rule),
				    load_relaxed(&room.more) };
}

uint64_t room_limit(void)
{
	return load_relaxed(&room.limit);
}

enum room_rule room_refuses(bool is_whole)
{
	if (is_whole)
		return load_relaxed(&room.is_cut) ? ROOM_ADDRESSES : ROOM_FREE;
	return room_state().rule;
}
