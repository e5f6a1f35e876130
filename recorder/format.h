/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena's bytes: what a recording looks like in shared memory.
 *
 * Data only. Shared by the recorder inside the target, which writes it, and by readers from
 * outside: `wcprof recover`, and the drainer of `wcprof record`. Offsets instead of pointers, so
 * that it can be mapped anywhere. All times are ticks of the arena's clock (clock.h turns them into
 * nanoseconds); all ids are the recorder's own.
 *
 * FORMAT_VERSION goes up with any change of size, offset or meaning in this file or of a number in
 * events.def. A reader refuses a version that it does not know.
 */
#ifndef WCPROF_FORMAT_H
#define WCPROF_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "deployed.h"
#include "tallies.h"

enum { FORMAT_VERSION = 37 };
/* From this one on struct arena_head is what it is. */
enum { FORMAT_HEAD_VERSION = 12 };

/* Of the release: of the library and of all commands. */
#define WCPROF_VERSION "0.1.0"

enum kind {
#define KIND(number, name, word, work, meaning) KIND_##name = (number),
#include "events.def"
};

enum work {
#define WORK(number, name, word, meaning) WORK_##name = (number),
#include "events.def"
};

enum outcome {
#define OUTCOME(number, name, word, meaning) OUTCOME_##name = (number),
#include "events.def"
};

enum reason {
#define REASON(number, name, word, meaning) REASON_##name = (number),
#include "events.def"
};

enum link_kind {
#define LINK(number, name, word, meaning) LINK_##name = (number),
#include "events.def"
};

enum record_type {
	RECORD_NONE = 0,
	RECORD_OP = 1,
	RECORD_WAIT = 2,
	RECORD_LINK = 3,
	RECORD_SAMPLE = 4,
	RECORD_ATTACHED = 5,
	RECORD_CONTEXT = 6
};

/*
 * One event; packed in a chunk (packed.h). Also an open op or wait, in its thread's slot or among
 * the handles, while `end` is 0. RECORD_ATTACHED is in slots only: the thread is in the op `id`,
 * which is among the handles, at `fd`.
 *
 * field    op                            wait                      link
 * id       its id                        target op, 0 = unknown    op tied to, 0 = none
 * parent   op that it belongs to         op that waits             op that it comes from
 * value    io: bytes (signed)            address waited on         address of the resource
 *          hold: address of the lock
 *          thread: start routine
 *          sleep: nanoseconds asked for
 *          poll: how many were ready
 * name     its class                     the call                  (a number) index of the thread
 * count    hold: it is the lock's n-th   index of the thread       wake, post: see events.def
 *          io: the other end's ident, or
 *          the request (fields.h)
 *          thread: its kernel thread id
 * fd       io, poll: the descriptor      kernel's number of the
 *          hold: RELOCK_TICKS            thread that held it when
 *          thread: its weight            it began
 * Of a sample, `value` is its thread's CPU time so far, in nanoseconds. `parent` is the op in which
 * the thread was, and `name` the index of the thread. `count` is the number of the processor that
 * it was on. `id` is how long the thread has waited for a CPU in its life: nanoseconds, as of the
 * last 50 ms; 0 = not known. Start and end are the same. Of a context: `id` and `parent` are halves
 * of a trace's id, `value` is a span's. Of a wait that timed out, `id` is how late: nanoseconds.
 */
struct record {
	uint64_t start;
	uint64_t end;
	uint64_t id;
	uint64_t parent;
	uint64_t value;
	uint32_t name;  /* string id but for links */
	uint32_t stack; /* stack id, 0 = none */
	uint32_t ident; /* string id: which resource, thread, file */
	uint32_t count;
	int32_t fd;      /* see above; -1 = none */
	uint8_t type;    /* enum record_type; written last in an open entry, cleared first */
	uint8_t what;    /* enum kind, reason or link_kind */
	uint8_t outcome; /* enum outcome */
	uint8_t flags;   /* RECORD_* below */
};

/*
 * A mutex is taken again inside pthread_cond_wait(), unseen. The length of the wait shows when it
 * is there: from the last signal to the last release by another thread, if that came later. It is
 * in `fd` of the hold that begins there.
 */
enum { RELOCK_TICKS = 256 };

enum {
	RECORD_ABSOLUTE = 1,  /* sleep until a point in time; value counts from the call */
	RECORD_PEEKED = 1,    /* io: `count` tells of the request that it read (fields.h) */
	RECORD_TIMED_OUT = 2, /* a wait that ended by its timeout */
	RECORD_ACCEPTED = 4,  /* io, poll: the descriptor is a connection whose peer is a client */
	RECORD_ANNOTATED = 8, /* the program declared it; an op's value is the result it named */
	RECORD_FLOW = 16,     /* recorded even while recording is off */
	RECORD_OWNER_DIED = 32, /* a wait that ended because the holder did; the hold after it */
	RECORD_ALL = 64,        /* a wake of all that wait, however many those were */
	RECORD_FULL = 64,       /* a poll that returned as much as its caller had room for */
	RECORD_TRIED = 128      /* a hold by a try: without the lock it would have gone on */
};

/* Set in an address that is none: of an object of the kernel's, the same in all processes. */
#define KERNEL_OBJECT (UINT64_C(1) << 62)

/* Of an io that moved several messages, value has their number times this, and the bytes. */
#define RECORD_MESSAGE (UINT64_C(1) << 48)

/* Set in a stack's word that is a string's id instead: where an interpreted program was. */
#define STACK_TEXT      UINT64_C(0xfffe000000000000)
#define STACK_TEXT_MASK UINT64_C(0xffff000000000000)

_Static_assert(sizeof(struct record) == 64, "open entries lie at fixed offsets");

/* --- The arena: one mapping, everything at fixed offsets from its start ---------------------- */

/*
 * offset             section
 * 0                  struct arena, the header
 * ARENA_ROSTER       struct slot [ROSTER_SLOTS]
 * ARENA_STRINGS      struct string_entry [STRINGS_MAX], by id
 * ARENA_STRING_IDS   uint32_t [STRING_BUCKETS], hash table of ids, 0 = empty
 * ARENA_STRING_POOL  bytes of the strings, each ended by a NUL
 * ARENA_STACKS       struct stack_entry [STACKS_MAX], by id; then their hash table, alike
 * ARENA_STACK_POOL   uint64_t [STACK_POOL_WORDS], frames
 * ARENA_WATCHES      struct watch [WATCHES_MAX] (watch.h)
 * ARENA_HANDLES      struct open_entry [HANDLES_MAX]
 * ARENA_MODULES      struct module_entry [MODULES_MAX]; then those of objects and of peers
 * ARENA_CHUNKS       struct chunk [chunks.max]
 *
 * The header's first ARENA_CONSTANT_BYTES are pages of their own. A reader from outside has a copy
 * of them that it has checked. So nobody who still writes to the arena changes the sizes in it.
 *
 * Space is populated before it is written: by granules, which header.ready marks; slots and chunks
 * one by one, below pool.made. Nobody may touch space that is not populated, a reader neither; nor
 * the records of an empty chunk, which may have given its memory back.
 */
enum {
	ARENA_GRANULE_BYTES = 8192, /* most processes use little of each section */
	ROSTER_SLOTS = 4096,
	SLOT_ENTRIES = 24,
	SLOT_BASES = 256,
	SLOT_BYTES = 2688 + 2 * SLOT_BASES,
	STRINGS_MAX = 65536,
	STRING_BUCKETS = 131072,
	STRING_BYTES_MAX = 1023,
	STRING_POOL_BYTES = 8 << 20,
	STACKS_MAX = 131072,
	STACK_BUCKETS = 262144,
	STACK_POOL_WORDS = 4 << 20,
	STACK_FRAMES_MAX = 256,
	WATCHES_MAX = 32768,
	WATCH_FILTER_BITS = 65536,
	HANDLES_MAX = 32768,
	OPENINGS_KEPT = 256,
	MODULES_MAX = 1024,
	MODULE_BYTES = 512,
	OBJECTS_MAX = 4096,
	PEERS_MAX = 8192,
	CHUNK_BYTES = 32768,
	CHUNK_WORDS = 4088,
	CHUNK_RECORDS = 511,                    /* at least so many fit into a chunk (packed.h) */
	CHUNK_BARED_BYTES = CHUNK_BYTES - 4096, /* given back by one that is bare */

	ARENA_HEADER_BYTES = 32768,
	ARENA_CONSTANT_BYTES = 8192,
	ARENA_ROSTER = ARENA_HEADER_BYTES,
	ARENA_STRINGS = ARENA_ROSTER + ROSTER_SLOTS * SLOT_BYTES,
	ARENA_STRING_IDS = ARENA_STRINGS + STRINGS_MAX * 8,
	ARENA_STRING_POOL = ARENA_STRING_IDS + STRING_BUCKETS * 4,
	ARENA_STACKS = ARENA_STRING_POOL + STRING_POOL_BYTES,
	ARENA_STACK_IDS = ARENA_STACKS + STACKS_MAX * 8,
	ARENA_STACK_POOL = ARENA_STACK_IDS + STACK_BUCKETS * 4,
	ARENA_WATCHES = ARENA_STACK_POOL + STACK_POOL_WORDS * 8,
	ARENA_HANDLES = ARENA_WATCHES + WATCHES_MAX * 88,
	ARENA_MODULES = ARENA_HANDLES + HANDLES_MAX * 80,
	ARENA_OBJECTS = ARENA_MODULES + MODULES_MAX * MODULE_BYTES,
	ARENA_PEERS = ARENA_OBJECTS + OBJECTS_MAX * 48,
	ARENA_CHUNKS = ARENA_PEERS + PEERS_MAX * 8,
	ARENA_GRANULES = ARENA_CHUNKS / ARENA_GRANULE_BYTES
};

_Static_assert((ARENA_CHUNKS | ARENA_ROSTER) % ARENA_GRANULE_BYTES == 0, "both begin on a granule");
_Static_assert(ARENA_STRING_POOL % 4096 == 0 && ARENA_STACK_POOL % 4096 == 0,
	       "pools begin on a page");

enum counter {
#define COUNTER(name, is_loss, meaning) COUNTER_##name,
#include "counters.def"
#undef COUNTER
	COUNTER_COUNT
};

enum clock_kind { CLOCK_KIND_TSC = 1, CLOCK_KIND_MONOTONIC = 2 };

/* The same moment on three clocks. */
struct clock_pair {
	uint64_t ticks;
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
	uint64_t real_ns; /* CLOCK_REALTIME */
};

/* ns since base = (ticks - base.ticks) * mult / 2^32. */
struct clock_scale {
	struct clock_pair base; /* the arena's epoch */
	uint64_t mult;          /* 0 until the first dump: then constant */
	uint32_t kind;          /* enum clock_kind */
	uint32_t unused;
};

/* A stack of items of which some are not made yet. `head` is tag << 32 | index + 1 (0 = empty);
 * the tag grows with every change, so that an item that went and came back is noticed. */
struct pool {
	_Alignas(64) uint64_t head;
	uint32_t made; /* items below are populated */
	uint32_t max;
	uint32_t given; /* how many are in it now, about */
};

struct string_entry {
	uint32_t offset; /* in the pool */
	uint32_t bytes;  /* without the NUL; written last: 0 = not there yet */
};

struct stack_entry {
	uint32_t offset; /* in words, in the pool */
	uint32_t count;  /* written last: 0 = not there yet */
};

/* Of what is said, times change after an entry was counted, and whether its addresses were another
 * one's as well. */
struct module_entry {
	uint64_t base; /* load bias */
	uint64_t start;
	uint64_t bytes;
	uint64_t loaded;    /* ticks; 0 = before the recording began */
	uint64_t unloaded;  /* ticks; 0 = it is there */
	uint32_t is_shared; /* 1 = another entry has had some of its addresses */
	uint32_t build_id_bytes;
	uint8_t build_id[20];
	char path[MODULE_BYTES - 68];
};
_Static_assert(sizeof(struct module_entry) == MODULE_BYTES, "modules lie at fixed offsets");

/* A lock or the like in memory that other processes map too: what it is to all of them. */
struct object_entry {
	uint64_t address; /* in this process */
	uint64_t since;   /* ticks: before, the address may have been another one's */
	uint64_t device;
	uint64_t inode;
	uint64_t offset; /* of the object in the file */
	uint64_t unused;
};
_Static_assert(sizeof(struct object_entry) == 48, "ARENA_PEERS counts on it");

/* The two ends of a connection of the unix kind, by inode. */
struct peer_entry {
	uint32_t inode;
	uint32_t peer; /* 0 = not known */
};
_Static_assert(sizeof(struct peer_entry) == 8, "ARENA_CHUNKS counts on it");

/*
 * An op or wait that has not ended. Written by its thread only; read by the drainer at any time.
 * `handle` is cleared before anything else of the entry changes and written last, and is never used
 * twice. The same among the handles, where it belongs to whoever made it, and then to whoever ends
 * it (handles.h).
 */
struct open_entry {
	struct record record; /* end is 0 but of a hold with HOLD_RELEASED for an fd; another hold's
			       * fd is the index of its watch, or -1 */
	uint64_t handle;      /* op: its id; 0 = entry is free */
	uint64_t frame;       /* address of the frame that opened it */
};
_Static_assert(sizeof(struct open_entry) == 80, "ARENA_HANDLES counts on it");

enum { HOLD_RELEASED = -2 }; /* `fd` of a hold that was released, and whose record comes next */

/* Set in a handle, and in the op of a child's watch: somebody is just writing its record. */
#define HANDLE_ENDING (UINT64_C(1) << 63)

/* One thread. Owner: its thread, until it ends. The drainer reads it, and buries the dead. */
struct slot {
	uint32_t next;   /* in its pool */
	uint32_t thread; /* index, from 1; 0 = nobody; written last, cleared first */
	uint32_t tid;
	uint32_t chunk; /* index + 1 of the one that it fills, 0 = none */
	uint64_t op;    /* of the thread */
	uint64_t stack_top;
	uint64_t delay_ns; /* waited for a CPU, as of late, 0 = not known; drainer writes */
	/* When its process ended, or recording was turned off last, 0 = neither (mark.h). */
	uint64_t last_ticks, last_cpu_ns;
	uint32_t opening;              /* of its entries but for [0] and attachments (opening.h) */
	uint32_t chunk_from;           /* as many records had others written to its chunk */
	struct thread_context context; /* its thread's (context.h) */
	struct thread_cost cost;       /* added to by its thread only */
	uint64_t counters[COUNTER_COUNT]; /* added to by its thread only */
	char name[16];                    /* as of its registration, or the process's end */
	struct open_entry found;          /* a call it was in when recording began (census.h) */
	uint16_t bases[SLOT_BASES];       /* of its chunk; its thread's (packed.h) */
	struct clock_place clock_places[CLOCK_PLACES];        /* its thread's (clockreads.h) */
	_Alignas(64) struct open_entry entries[SLOT_ENTRIES]; /* [0] is the thread's op */
};
_Static_assert(sizeof(struct slot) == SLOT_BYTES, "slots lie at fixed offsets");

/*
 * A run of packed records. Owner: one thread at a time, which alone writes records and `published`.
 * When full it belongs to the drainer; or in a ring to the thread that claims it, unless it is
 * pinned. When its thread ends it goes to pool partial, for the next thread. Which thread wrote a
 * record is in its ids: (id or, for waits and links, parent) >> 32.
 *
 * `published`, `drained` and the snapshot's are extents: how many words from the chunk's begin on,
 * and times EXTENT_RECORD how many records these are. drained <= published. One dump has its
 * records from `snapshot_from` up to `snapshot`; only the drainer writes and reads fields of that
 * name. Those records stay what they are while the chunk is pinned. If the drainer dies when the
 * dump is out, arena.commit_begun says that the next one is to go on. Chunks whose `snapshot` is
 * not 0 do not say yet that they were handed out.
 */
struct chunk {
	uint32_t next;          /* in its pool */
	uint32_t state;         /* enum chunk_state, CHUNK_PINNED, and laps times CHUNK_LAP */
	uint32_t published;     /* complete is what lies below; store-release */
	uint32_t threads_ended; /* how many of its records are ops `thread` */
	uint32_t drained;       /* handed out; written by the drainer, and by who has claimed it */
	uint32_t is_bare;       /* all but its first page was given back; likewise */
	uint32_t snapshot;
	uint32_t snapshot_from;
	uint32_t snapshot_lap;
	uint32_t snapshot_left;  /* to the program's threads: 1 = not in the dump */
	uint32_t snapshot_since; /* words: what is below ended before it, and was open to nobody */
	uint64_t full_ticks;     /* of a full one: when it became full */
	uint64_t lost_ticks; /* by then records ended that were overwritten, and are in no dump */
	uint64_t words[CHUNK_WORDS];
};
_Static_assert(sizeof(struct chunk) == CHUNK_BYTES, "chunks lie at fixed offsets");

enum chunk_state {
	CHUNK_EMPTY = 0,
	CHUNK_FILLING = 1,
	CHUNK_FULL = 2,
	CHUNK_CLAIMED = 3, /* between two states: what is in it does not count */
	CHUNK_STATES = 3,
	CHUNK_PINNED = 4, /* a drainer reads it: full, it is not to be claimed */
	CHUNK_LAP = 8     /* added each time that a ring comes round to it */
};

/*
 * Bits of drain_owner, as the kernel has them in a robust futex. The drainer is a thread of another
 * process; the kernel has seen it die. Then its place is free, and the chunks that it pinned, too.
 */
#define DRAIN_OUTSIDE UINT32_C(0x80000000)
#define DRAIN_DIED    UINT32_C(0x40000000)

/* Why there are no samples: the program has taken their signal; the runtime of Go has. */
enum unsampled { UNSAMPLED_TAKEN, UNSAMPLED_GO, UNSAMPLED_REASONS };

#define ARENA_MAGIC UINT64_C(0x31666f7270637700)

/* The first bytes of the header, the same in all versions: enough to know whether the arena of a
 * dead process may be removed. */
struct arena_head {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;
	uint64_t pid_namespace; /* in which `pid` counts: inode of /proc/self/ns/pid, 0 = unknown */
	uint32_t is_kept;       /* 1 = wcprof record follows, and removes it */
	uint32_t unused;
};

/* The header. Constant after creation but for what is said. */
struct arena { /* it begins as struct arena_head does */
	uint64_t magic;
	uint32_t version;
	uint32_t pid;
	uint64_t pid_namespace;
	uint32_t is_kept;
	uint32_t unused_head;
	uint64_t bytes;       /* of the whole mapping */
	uint32_t chunks_most; /* no more chunks are ever looked at; a reader's copy has its own */
	uint32_t keep_s;      /* events older than that are in no dump; 0 = all are; settings.c */
	uint32_t ppid;
	uint32_t cpus;
	uint32_t cache_cpus;  /* that share a cache with the first one, 0 = not known */
	uint64_t tick_ns;     /* of the scheduler, 0 = not known */
	uint64_t start_ticks; /* of the process: field 22 of /proc/PID/stat */
	uint64_t start_unix_ns;
	int64_t mono_offset_ns;     /* of its time name space, to the machine's clock */
	uint64_t network_namespace; /* inode of /proc/self/ns/net, 0 = unknown */
	uint64_t session; /* the number of the wcprof record that follows; 0 = none does */
	uint32_t generation;
	uint32_t anonymous;       /* 1 = private memory: there is no file */
	uint32_t call_count;      /* strings 1 to call_count are names of calls */
	uint32_t exe_name;        /* string id: base name of what was started as the program */
	uint32_t client;          /* string id: "PID:START" */
	uint32_t thread_class;    /* string id: "thread" */
	struct clock_scale clock; /* mult: written once, by the first drainer */
	struct record process_op; /* as it began */
	char path[128];           /* of the file */
	char exe[512];
	char host[72];
	char boot_id[40];
	uint32_t argv_bytes;
	uint64_t cpu_mask[IDLE_CPUS_MAX / 64]; /* which `cpus` are */
	char argv[4092];                       /* each argument ended by a NUL */
	char socket[108];                      /* where this process listens, or would */
	/* Written by any thread. */
	_Alignas(4096) uint32_t thread_count; /* indexes given so far */
	uint32_t string_count;                /* ids given so far, without id 0 */
	uint32_t string_bytes;
	uint32_t stack_count;
	uint32_t stack_words;
	uint32_t watch_lock;     /* 0 or thread index + 1 of who changes the table's keys */
	uint64_t room_bytes;     /* how large it may become for now, room.h */
	uint64_t starved_until;  /* ticks: no memory to be had before, do not ask */
	uint64_t aged_turn;      /* chunks before it are not too young any more (age.h); drainer */
	uint64_t turn;           /* chunks taken so far; a ring's next is turn % chunks.max */
	uint32_t bare_chunks;    /* how many have given their memory back, about */
	uint32_t is_ring;        /* constant: full chunks are overwritten, the oldest first */
	uint32_t objects_wanted; /* watches that are to be placed, so far */
	uint32_t peers_wanted;   /* sockets whose peers are to be found, so far */
	uint64_t counters[COUNTER_COUNT]; /* of ended threads and of nobody's */
	_Alignas(64) struct pool slots;
	struct pool chunks;  /* empty ones */
	struct pool bare;    /* empty ones that have given their memory back */
	struct pool partial; /* chunks of ended threads, with room */

	/* Written by the drainer, or by whoever turns recording on and off. */
	_Alignas(64) uint32_t drain_owner; /* tid of the drainer, 0 = none; DRAIN_* */
	uint32_t drain_wanted;             /* a program that ends waits for drain_owner */
	uint32_t module_count;
	uint32_t module_lock; /* 1 = somebody adds modules; any thread */
	uint32_t object_count;
	uint32_t objects_sought;              /* of objects_wanted, for how many it was tried */
	uint32_t peers_sought;                /* of peers_wanted, for how many it was tried */
	uint32_t dump_count;                  /* dumps handed out whole */
	struct deployment deployment;         /* by who adds modules */
	uint64_t losses_reported;             /* of events, in those */
	uint64_t losses_forgotten;            /* by RESET */
	uint32_t openings;                    /* so far (opening.h) */
	uint64_t opened_ticks[OPENINGS_KEPT]; /* by number: when it began */
	uint64_t closed_ticks[OPENINGS_KEPT]; /* by number: when it ended, 0 = it goes on */
	uint64_t dumped_ticks;                /* when a dump was taken last, or RESET */
	uint64_t filtered_ticks;  /* when a filter of system calls was put up; 0 = never */
	uint64_t unsampled_ticks; /* since when there are no samples; 0 = there may be */
	uint64_t process_ended; /* ticks; written once, by the first thread that ends the process */
	struct usage usage_before; /* when the arena was made */
	struct usage usage;        /* since then, as of late */
	struct process_cost cost;  /* of ended threads; any thread, the control thread its own */
	struct process_cost cost_before; /* of all when the last window began, but for probes */
	struct budget_tally budget;      /* the control thread */
	uint64_t quota_milli_cpus;       /* these two: quota.h; the control thread; 0 = no quota */
	uint64_t stopped_ns;             /* by it, while recording was on */
	uint32_t process_end_reported;   /* in a dump that was handed out whole */
	uint32_t unlinked;               /* the file has no name any more */
	uint32_t unsampled_why;          /* enum unsampled */
	uint32_t commit_begun; /* 1 = a dump was handed out whole, and not all chunks say so yet */

	uint32_t idle_count;     /* idle.h; the control thread, or who ends the process */
	uint32_t idle_doublings; /* of the distance between two */
	struct idle_entry idles[IDLES_MAX];

	uint32_t module_calls[MODULES_MAX];          /* inlined.h; the control thread writes */
	uint64_t ready[(ARENA_GRANULES + 63) / 64];  /* bit = granule is populated */
	uint8_t watch_filter[WATCH_FILTER_BITS / 8]; /* bit = some watch has this hash */
};
_Static_assert(offsetof(struct arena, pid_namespace) ==
			       offsetof(struct arena_head, pid_namespace) &&
		       offsetof(struct arena, is_kept) == offsetof(struct arena_head, is_kept) &&
		       offsetof(struct arena, bytes) == sizeof(struct arena_head),
	       "the header begins with its head");
_Static_assert(sizeof(struct arena) <= ARENA_HEADER_BYTES, "the header has granules of its own");
_Static_assert(offsetof(struct arena, thread_count) == ARENA_CONSTANT_BYTES,
	       "readers have a copy of what is before");

#endif
