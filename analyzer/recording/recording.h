/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One or several dumps in memory: what the reader hands to everything after it.
 *
 * Data only, written by the reader, and read-only once the pipeline has put in what records imply.
 * All strings are ids into one table for all dumps. The words of events.def have fixed ids, the
 * enums of format.h; other words of kind, reason and so on get ids after those. Times are
 * nanoseconds since the earliest epoch of all dumps.
 *
 * Op ids are dense indexes: the reader has replaced the dump's ids, which are unique only within
 * one process. Of an op that is open in one dump and finished in a later one the finished one is
 * here.
 */
#ifndef WCPROF_RECORDING_H
#define WCPROF_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

/* In an address: what follows is the number of an object that processes share, which is the same in
 * all of them. No program has such addresses. */
#define SHARED_ADDRESS (UINT64_C(1) << 63)
/* All these bits: a lock on a file (infer/filelocks.h). */
#define FILE_LOCK_ADDRESS (SHARED_ADDRESS | UINT64_C(3) << 61)

static inline bool rec_is_file_lock(uint64_t address)
{
	return (address & FILE_LOCK_ADDRESS) == FILE_LOCK_ADDRESS;
}

struct rec_op {
	uint64_t dump_id; /* as in the dump, for reports */
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t parent; /* op index, NO_INDEX = none in this recording */
	uint32_t name;   /* string id: class */
	uint32_t ident;  /* string id */
	uint32_t client; /* string id */
	uint16_t kind;   /* word id */
	uint8_t work;    /* enum work */
	uint8_t outcome; /* word id */
	uint32_t thread; /* index into threads, NO_INDEX = the dump names no threads */
};

/* Facts that only our own recorder writes; parallel to ops, NULL when no dump has any of them. */
struct rec_op_extra {
	uint64_t address; /* of the lock, of a thread's start routine */
	/* io: bytes moved; poll: how many were ready, or which signal came; sleep: ns asked for */
	uint64_t amount;
	uint64_t cpu_ns;
	uint32_t stack; /* index into stacks */
	int32_t fd;
	union {
		uint32_t seq; /* number of this hold of its lock; a reader's: of the writer's before
			       */
		uint32_t messages; /* of an io that moved several; 0 = it did not */
	};
	uint32_t other_ident; /* io between two descriptors: the other one's; string id, 0 = none */
	union {
		uint64_t relock_ns; /* hold: so long others had it after the signal that woke its
				     * thread */
		struct {
			/* io: of the request that it read, as "GET /users"; string id, 0 = not
			 * known */
			uint32_t request_kind;
			uint32_t request_bytes; /* of it alone, if it read more; 0 = not known */
		};
	};
	bool tried;    /* hold: by a try, which would have gone on without the lock */
	bool absolute; /* sleep to an absolute deadline */
	bool accepted; /* io, poll: of a connection whose peer is a client */
	bool full;     /* poll: it returned as many as its caller had room for */
	bool open;     /* had not ended when the dump was taken */
	bool cut;      /* began before what was selected of the recording */
	bool timer;    /* poll: ended by the clock, for work that was put off until then */
	bool probed;   /* of kind user: a call of a probed function, nothing that was declared */
	bool chosen;   /* of those: others of the same function were left out */
	bool shared;   /* hold of an rwlock: as a reader, which its ident says */
};

struct rec_wait {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t asked_ns; /* it was to time out after so long, and did; 0 = not known */
	uint32_t waiter;   /* op index, NO_INDEX = orphan */
	uint32_t target;   /* op index, NO_INDEX = unknown */
	uint32_t ident;    /* string id */
	uint16_t reason;   /* word id */
	bool open;         /* had not ended when the dump was taken */
	bool timed_out;
	bool owner_died; /* it ended because the thread that held the lock did */
	uint32_t thread;
	uint32_t stack;
	uint32_t name;       /* string id: the call */
	uint32_t holder;     /* thread that had the lock when it began, NO_INDEX = unknown */
	uint32_t holder_tid; /* the same, as the kernel calls it; 0 = unknown */
	uint64_t address;    /* for a signal: the number of the link that sent it */
};

struct rec_link {
	uint64_t at_ns;
	uint64_t result; /* as in the dump; value: the number, or a string's id */
	uint64_t address;
	uint32_t from;  /* op index */
	uint32_t to;    /* op index */
	uint32_t ident; /* string id */
	uint16_t kind;  /* word id */
	uint32_t count; /* wakes: how many waited, at most one but for a wake of all */
	bool all;       /* a wake of all that wait: a broadcast */
	bool is_text;   /* value: a string */
	bool is_real;   /* value: `result` has the bits of a double */
	uint32_t thread;
	uint32_t stack;
};

/*
 * How much CPU time a thread had used by a point in time. Taken at its begin and end, after a call
 * in which it may have been blocked, and at a dump. With a stack also now and then while it ran.
 * Exact: between two of a thread's samples it was on a CPU for the difference of their cpu_ns. In
 * order of thread and time; samples.h finds those of one thread.
 */
struct rec_sample {
	uint64_t at_ns;
	uint64_t cpu_ns;     /* used since the thread began, which may be before the recording */
	uint64_t queued_ns;  /* waited for a CPU since then, as of late; 0 = not known */
	uint32_t thread;     /* index into threads */
	uint32_t op;         /* op index: where the thread was then, NO_INDEX = unknown */
	uint32_t stack;      /* 0 = taken at a call, not while the program's code ran */
	uint32_t cpu_number; /* of the processor that it ran on */
};

/* A trace's id, the first digits first, and a span's in it; 0 = none. */
struct rec_ids {
	uint64_t trace[2];
	uint64_t span;
};

/* The span that a thread works for from then on. In order of thread and time. */
struct rec_context {
	uint64_t at_ns;
	struct rec_ids ids;
	uint32_t thread; /* index into threads */
};

struct rec_thread {
	uint32_t process; /* index into processes */
	uint32_t tid;
	uint32_t name;   /* string id */
	uint32_t op;     /* its op, NO_INDEX = unknown */
	uint32_t weight; /* share of a contended CPU, 0 = the usual REC_WEIGHT_PLAIN */
};

enum { REC_WEIGHT_PLAIN = 1024 };

struct rec_module {
	uint32_t process;
	uint32_t path;     /* string id */
	uint32_t build_id; /* string id, hex */
	uint64_t base;     /* load bias: address - base = the ELF file's virtual address */
	uint64_t start;    /* mapped addresses [start, start + size) */
	uint64_t size;
	uint64_t loaded_ns;   /* 0 = before the recording began */
	uint64_t unloaded_ns; /* 0 = not as far as the recording goes */
	bool has_syscalls;    /* its own code was looked at for system calls; how many, at least */
	uint64_t syscalls;
};

/* The path of a process's module for code outside all files: made at run time, as it seems. Its
 * base and size are 0, so its frames' offsets are addresses; or REC_FRAME_TEXT and the index of a
 * string "function file:line", for an interpreted program. */
#define REC_JIT_PATH   "[jit]"
#define REC_FRAME_TEXT (UINT64_C(0xffff) << 48) /* no address has it */

struct rec_frame {
	uint32_t module; /* index into modules, NO_INDEX = of no process */
	uint64_t offset; /* ELF virtual address in the module */
};

/*
 * Names that an earlier analysis has put into a dump: of one file's addresses. With a client they
 * are of that process's addresses outside all files. They count in place of what the file would
 * say.
 */
struct rec_naming {
	uint32_t path; /* string ids */
	uint32_t build_id;
	uint32_t client;
	/* Of the file: names/packages.h has the sorts; 0 = not known. */
	uint32_t package;
	uint32_t package_version;
	uint32_t package_sort;
};

struct rec_named_frame {
	uint32_t function; /* string ids, 0 = not known */
	uint32_t file;
	uint32_t line;
};

struct rec_named_code {
	uint64_t offset;
	uint64_t function_offset;
	uint32_t naming;      /* index into namings */
	uint32_t first_frame; /* index into named_frames, innermost first */
	uint32_t frame_count; /* at least one */
	bool is_return_address;
};

struct rec_named_data {
	uint64_t offset;        /* ELF virtual address */
	uint64_t object_offset; /* of this from the object's start */
	uint32_t naming;
	uint32_t object; /* string id */
};

struct rec_stack {
	/* index into frames, innermost first; return addresses, those of samples too */
	uint32_t first_frame;
	uint32_t frame_count;
};

/* The two ends of a connection of the unix kind, by inode. */
struct rec_peer {
	uint64_t inode;
	uint64_t peer;
	uint32_t process; /* that says so */
};

/* How long the CPUs that a process may use had been idle by then, all together. */
struct rec_idle {
	uint64_t at_ns;
	uint64_t idle_ns;
	uint32_t process;
};

/* A time in which calls of a process were recorded. One without length: of a dump before which it
 * was not. */
struct rec_window {
	uint64_t from_ns;
	uint64_t to_ns;
	uint32_t process;
	bool was_turned_off; /* at its end: the process went on */
};

/* The kernel's start of a process is known to a hundredth of a second, and clocks may differ. */
static const int64_t REC_START_ERROR_NS = 50000000;

struct rec_process {
	uint32_t pid; /* 0: of the dumps that name no process */
	uint32_t ppid;
	uint32_t exe;     /* string id */
	uint32_t host;    /* string id */
	uint32_t boot;    /* string id: of the machine's boot, 0 = not said */
	uint32_t clock;   /* index into clocks, once hosts_find() has run */
	uint64_t network; /* its name space, as its machine numbers them; 0 = not said */
	uint32_t client;  /* string id "PID:start" */
	uint32_t op;      /* its op, NO_INDEX = unknown */
	uint32_t cpus;
	uint32_t cache_cpus; /* CPUs of one cache; 0 = not said */
	uint64_t tick_ns;    /* of its scheduler; 0 = not said */
	uint64_t start_unix_ns;
	uint64_t cpu_ns; /* these three: as the kernel counted, since the recording began */
	uint64_t voluntary_switches;
	uint64_t involuntary_switches;
	uint64_t own_window_ns; /* of cpu_ns: what recording has cost */
	uint64_t own_ns;        /* the same since the process began; the next four are its parts */
	uint64_t own_events_ns;
	uint64_t own_slow_ns;
	uint64_t own_start_ns; /* of that: until its first thread had begun; 0 = not known */
	uint64_t own_control_ns;
	uint64_t own_dumps_ns;
	uint64_t budget_ppm;       /* the limit on its cost, of the CPU time; 0 = no budget */
	uint64_t budget_span_ns;   /* how long that chose when recording was on, in all dumps */
	uint64_t budget_on_ns;     /* of that: for how long it was */
	uint64_t budget_cost_ppm;  /* its cost while it was on, as of late */
	uint64_t quota_milli_cpus; /* that its cgroup may use at most, 0 = no quota */
	uint64_t stopped_ns;       /* so long that stopped the cgroup's threads, added over CPUs */
	uint64_t filtered_ns;      /* since its recording began: nothing after it; 0 = never */
	uint64_t unsampled_ns;     /* the same for samples, if there is a reason */
	uint32_t unsampled_why;    /* string id, 0 = there may be samples */
	uint32_t service;          /* string ids: which one it is, by its tracer; 0 = not said */
	uint32_t service_version;
	uint32_t environment; /* that it is deployed in */
};

/* A machine since it was started: its processes have one monotonic clock. */
struct rec_clock {
	uint32_t boot; /* string ids */
	uint32_t host;
	uint32_t group;   /* the first clock that it is aligned with, by bytes that went between */
	double offset_ns; /* that its times were moved by, in the middle of the recording */
	double drift;     /* by so much that grew, for each ns */
	double error_ns;  /* that they may be off by, each way; infinite: not known */
};

/* Two machines, and how far their clocks are apart by the bytes that went between them. */
struct rec_clock_pair {
	uint32_t from; /* indexes into clocks */
	uint32_t to;
	size_t connections; /* of which both ends were recorded */
	size_t unmatched;   /* of those: whose bytes fit no offset that the others fit */
	size_t messages;
	bool is_guessed; /* no connection was seen from its beginning: its order was found */
	bool has_least;  /* bytes went from `from` to `to`; back: */
	bool has_most;
	bool is_contradictory; /* no offset fits: a clock was set meanwhile */
	bool is_used;          /* it aligns the two */
	double offset_ns;      /* to be added to the times of `to` */
	double drift;
	double error_ns; /* infinite: bytes went one way only */
};

struct rec_words {
	const char **words;
	size_t count;
};

struct rec_counter {
	uint32_t process;
	uint32_t name; /* string id */
	uint64_t value;
};

/* A place that was probed, and what became of the calls that it saw. */
struct rec_probe {
	uint32_t process;
	uint32_t name; /* string id: that of its ops' class */
	uint32_t when; /* string id: the condition on what the thread is in */
	uint64_t calls;
	uint64_t brief; /* of these: left out as too short */
	uint64_t unmet; /* of these: left out by a condition */
};

struct intern;

struct recording {
	struct rec_op *ops;
	struct rec_op_extra *extras; /* parallel to ops, or NULL */
	size_t op_count;
	size_t open_op_count; /* of those, open at the dump; they end there */
	size_t unseen_holds;  /* of those, not in the dump: told by the calls in them */
	struct rec_wait *waits;
	size_t wait_count;
	struct rec_link *links;
	size_t link_count;
	struct rec_sample *samples;
	size_t sample_count;
	struct rec_context *contexts;
	size_t context_count;
	struct rec_thread *threads; /* none: the replay has the ancestor's semantics */
	size_t thread_count;
	struct rec_process *processes;
	size_t process_count;
	struct rec_module *modules;
	size_t module_count;
	struct rec_stack *stacks; /* 0 = no stack */
	size_t stack_count;
	struct rec_frame *frames;
	size_t frame_count;
	struct rec_naming *namings;
	size_t naming_count;
	struct rec_named_frame *named_frames;
	size_t named_frame_count;
	struct rec_named_code *named_codes;
	size_t named_code_count;
	struct rec_named_data *named_data;
	size_t named_data_count;
	const char **strings; /* NUL-terminated, 0 = "" */
	size_t string_count;
	struct rec_words kinds; /* begin with the rows of events.def, in their order */
	struct rec_words outcomes;
	struct rec_words reasons;
	struct rec_words link_kinds;
	struct rec_peer *peers;
	size_t peer_count;
	struct rec_idle *idles; /* by process, of a process in order of time */
	size_t idle_count;
	struct rec_window *windows; /* by process, of a process in order and apart; of a process
				     * without, it is not known */
	size_t window_count;
	size_t windows_left_out;      /* by the selection */
	bool has_last_window;         /* it is selected, as a whole, with all threads */
	struct rec_counter *counters; /* losses and costs of recording itself, as in the dumps */
	size_t counter_count;
	struct rec_probe *probes; /* as in each process's latest dump */
	size_t probe_count;
	uint64_t dropped_events;  /* that the recorder had no room for */
	uint64_t epoch_unix_ns;   /* the earliest */
	uint64_t end_ns;          /* when the last dump was taken or its last event ended */
	struct rec_clock *clocks; /* in order of the processes */
	size_t clock_count;
	struct rec_clock_pair *clock_pairs;
	size_t clock_pair_count;
	uint32_t *scopes; /* by string: where this description of a descriptor was made, 0 = none */
	size_t scope_count;    /* of the first strings; 0: all were made at one place */
	struct intern *intern; /* finds a text's id: recording_intern() in intern.h */

	/* Odd but harmless: what the figures rest on. */
	size_t dump_count;
	size_t truncated_files;  /* that ended in the middle of a line */
	uint64_t missing_events; /* that headers announce and their dumps do not have */
	size_t skipped_events;   /* of unknown type */
	size_t unknown_parents;  /* ops and waits that name an op which no dump has */
	size_t unknown_targets;  /* waits and links likewise */
};

static inline bool rec_module_is_jit(const struct recording *recording,
				     const struct rec_module *module)
{
	return module->size == 0 && strcmp(recording->strings[module->path], REC_JIT_PATH) == 0;
}

/* The text of a frame of an interpreted program; NULL: it is none. */
static inline const char *rec_frame_text(const struct recording *recording, struct rec_frame frame)
{
	uint64_t string = frame.offset - REC_FRAME_TEXT;

	return string < recording->string_count ? recording->strings[string] : NULL;
}

/* The thread tried to have a lock, and somebody else had it. */
static inline bool rec_is_try(const struct recording *recording, const struct rec_wait *wait)
{
	return wait->timed_out && strstr(recording->strings[wait->name], "trylock");
}

/* Of a poll: it was for more than one descriptor. */
static inline bool rec_polls_many(const struct recording *recording, uint32_t poll)
{
	return recording->extras[poll].fd < 0 ||
	       strncmp(recording->strings[recording->ops[poll].name], "epoll", 5) == 0;
}

/* The same, and nothing else was ready when it returned. */
static inline bool rec_polls_all(const struct recording *recording, uint32_t poll)
{
	return rec_polls_many(recording, poll) && !recording->extras[poll].full;
}

/* Of a poll: it is not for descriptors, and its amount is the signal that came. */
static inline bool rec_waits_for_signal(const struct recording *recording, uint32_t poll)
{
	return strncmp(recording->strings[recording->ops[poll].name], "sig", 3) == 0;
}

/* All that read.h promises, but that no op is its own ancestor. */
bool recording_is_valid(const struct recording *recording);

#endif
