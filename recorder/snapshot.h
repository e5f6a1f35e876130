/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of one dump, decided at one moment: while the dump is being written, which may take
 * long, the program goes on recording.
 *
 * An op that ends while the snapshot is taken is in it once, as open or as ended, never in both or
 * neither. Belongs to the drainer, which holds arena.drain_owner from snapshot_take() to
 * snapshot_drop().
 */
#ifndef WCPROF_SNAPSHOT_H
#define WCPROF_SNAPSHOT_H

#include "arena.h"

/* Whose arena it is. */
enum dump_of {
	DUMP_RUNNING, /* this process's: its threads, their names and its modules are looked up */
	DUMP_AT_END,  /* the same, in a hurry: the process is about to end */
	DUMP_DEAD     /* a process's that is no more */
};

struct snapshot_thread {
	uint64_t op;
	uint32_t thread;
	uint32_t tid;
	uint32_t name;   /* string id */
	uint32_t weight; /* see weight.h; 0 = not known */
	bool is_marked;  /* the fields below are known */
	uint64_t marked_ticks;
	uint64_t cpu_ns;   /* used by then */
	uint64_t delay_ns; /* waited for a CPU by then */
};

struct snapshot_open {
	struct record record; /* end 0 */
	uint64_t cut;         /* ticks: recording was turned off then; 0 = it goes on */
	uint64_t handle;
	const uint64_t *place; /* has the handle while it is open; NULL: it is in a thread's slot */
};

struct snapshot {
	struct record process_op;
	struct record
		seen; /* the record that is looked at: here, the program's stack is too small */
	struct clock_scale clock;
	struct clock_pair now;
	uint64_t event_count; /* records, and the process's op if it has ended */
	uint64_t losses;      /* of events, since the last dump that was handed out whole */
	uint64_t scratch_bytes;
	struct snapshot_thread *threads;
	struct snapshot_open *opens;
	uint32_t thread_count;
	uint32_t open_count;
	uint32_t open_room;
	uint64_t looked_at;     /* records, for what was open: there is a bound */
	uint32_t chunk_count;   /* chunks below are in it, each as far as it says itself */
	uint32_t chunk_first;   /* the oldest: a ring overwrites it first, so it is written first */
	uint64_t limit_ticks;   /* records that ended before are too old (age.h); 0 = none are */
	uint64_t since_ticks;   /* all that ended since then is in it */
	uint32_t opening_first; /* it has what was recorded in these */
	uint32_t opening_count;
	uint32_t string_count;
	uint32_t stack_count;
	uint32_t module_count;
	uint32_t object_count;
	uint32_t peer_count;
	uint32_t idle_count;
	bool holds_move;      /* some are just being released */
	bool has_process_end; /* an event of its own: the process has ended since the last dump */
	uint64_t losses_total;
	uint64_t counters[COUNTER_COUNT];
};

/* 0; -EBUSY when somebody else is the drainer; -ENOMEM. */
int snapshot_take(struct snapshot *, struct arena *, enum dump_of) HIDDEN;
/* The same without what ended longer ago than that; 0 = all. */
int snapshot_take_last(struct snapshot *, struct arena *, enum dump_of, uint64_t last_ns) HIDDEN;
/* All records of a chunk were written out: a ring need not keep it any longer. */
void snapshot_passed(struct arena *, uint32_t index) HIDDEN;
/* Ends it. `done`: everything was handed out, and is not in the next one. */
void snapshot_drop(struct snapshot *, struct arena *, bool done) HIDDEN;

/* Makes this thread the drainer, and no longer. */
bool snapshot_lock(struct arena *) HIDDEN;
void snapshot_unlock(struct arena *) HIDDEN;
/* Forgets what is recorded. 0, or -EBUSY while somebody else is the drainer. No arena: 0. */
int snapshot_reset(struct arena *) HIDDEN;

/* Events that no memory was found for, and the like, ever. */
uint64_t snapshot_losses(const struct arena *) HIDDEN;
/* Records in the arena that no dump has handed out, and how many words of chunks they take. */
struct pending {
	uint64_t records, words;
};
struct pending snapshot_count_pending(const struct arena *) HIDDEN;

static inline uint64_t snapshot_pending(const struct arena *arena)
{
	return snapshot_count_pending(arena).records;
}

static inline uint64_t snapshot_pending_bytes(const struct arena *arena)
{
	return snapshot_count_pending(arena).words * sizeof(uint64_t);
}

#endif
