/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ground-truth programs share this: named pieces of work, threads, the clock around a pattern.
 *
 * A program holds patterns, `PROGRAM PATTERN` runs one and prints one line, `makespan_ns N`, then
 * further figures of its own as `name value` pairs. It knows nothing of the profiler. A pattern's
 * work is fixed by the environment, which the driver fills from truth.def, so that one constant
 * can really be changed. T_A to T_E are the pieces work_a() to work_e(), each
 * `sleep:MICROSECONDS` or `burn:MICROSECONDS`. T_N and other single values are counts.
 *
 * A burn is a fixed number of steps: T_STEPS_PER_US of them a microsecond, measured once by `cpus
 * calibrate`. "Until so much time has passed" would hide a lack of CPUs. A piece of length 0 is
 * left out altogether: it is the fix that removes the work.
 *
 * Threads: pieces are read before the first thread starts and never written again. Each piece is a
 * function of its own, and calls what it calls directly, so that a profiler has a name for it.
 * Not here: anything that makes the outcome depend on the time of day, files or the network.
 */
#ifndef WCPROF_TRUTH_H
#define WCPROF_TRUTH_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UNUSED   __attribute__((unused))
#define NOINLINE __attribute__((noinline))

enum { NS_PER_S = 1000000000, NS_PER_US = 1000, THREADS_MAX = 96 };

struct piece {
	const char *variable;    /* of the environment */
	uint64_t steps;          /* to burn */
	struct timespec request; /* to sleep */
	enum { PIECE_UNSET, PIECE_NONE, PIECE_SLEEP, PIECE_BURN } what;
};

struct pattern {
	const char *name;
	void (*run)(void);
};

typedef void *routine(void *);

static UNUSED void die(const char *what, const char *which)
{
	fprintf(stderr, "%s: %s\n", which, what);
	exit(2);
}

static UNUSED uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static UNUSED struct timespec to_timespec(uint64_t time_ns)
{
	return (struct timespec){ (time_t)(time_ns / NS_PER_S), (long)(time_ns % NS_PER_S) };
}

/*
 * A count from the environment; there are no defaults, truth.def is the only place that has
 * them.
 */
static UNUSED long count_of(const char *variable)
{
	const char *value = getenv(variable);

	if (!value)
		die("is not set (tests/truth/truth.py --command PATTERN tells what to type)",
		    variable);
	return atol(value);
}

static volatile uint64_t burn_sink;

/* The work itself: one xorshift step is a few dependent instructions, no memory, no branches. */
static UNUSED NOINLINE void burn_steps(uint64_t steps)
{
	uint64_t x = 0x9e3779b97f4a7c15;

	for (uint64_t i = 0; i < steps; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	burn_sink = x;
}

static UNUSED void piece_read(struct piece *piece)
{
	const char *value = getenv(piece->variable), *colon = value ? strchr(value, ':') : NULL;
	const char *rate = getenv("T_STEPS_PER_US");
	double length_us;

	if (!value)
		return;
	if (!colon || (strncmp(value, "sleep:", 6) && strncmp(value, "burn:", 5)))
		die("must be sleep:MICROSECONDS or burn:MICROSECONDS", piece->variable);
	length_us = atof(colon + 1);
	if (*value == 'b' && !rate)
		die("is not set, and something burns", "T_STEPS_PER_US");
	piece->what = length_us <= 0 ? PIECE_NONE : *value == 's' ? PIECE_SLEEP : PIECE_BURN;
	piece->steps = rate ? (uint64_t)(length_us * atof(rate)) : 0;
	piece->request = to_timespec((uint64_t)(length_us * NS_PER_US));
}

/* One named piece of work. The empty assembly keeps its frame: without it the calls are jumps. */
#define PIECE(name, letter)                                                     \
	static struct piece name##_piece = { .variable = "T_" letter };         \
	static UNUSED NOINLINE void name(void)                                  \
	{                                                                       \
		struct timespec left = name##_piece.request;                    \
                                                                                \
		if (name##_piece.what == PIECE_UNSET)                           \
			die("is not set", name##_piece.variable);               \
		if (name##_piece.what == PIECE_BURN)                            \
			burn_steps(name##_piece.steps);                         \
		if (name##_piece.what == PIECE_SLEEP)                           \
			while (nanosleep(&left, &left) == -1 && errno == EINTR) \
				;                                               \
		__asm__ volatile("");                                           \
	}

PIECE(work_a, "A")
PIECE(work_b, "B")
PIECE(work_c, "C")
PIECE(work_d, "D")
PIECE(work_e, "E")

/* Threads of the running pattern; only the main thread starts and joins them. */
static pthread_t threads[THREADS_MAX];
static int thread_count;

static UNUSED void start(routine *body, long argument)
{
	if (thread_count == THREADS_MAX ||
	    pthread_create(&threads[thread_count++], NULL, body, (void *)argument))
		die("cannot start another thread", "start");
}

static UNUSED void start_many(long count, routine *body)
{
	for (long i = 0; i < count; i++)
		start(body, i);
}

static UNUSED void join_all(void)
{
	for (int i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	thread_count = 0;
}

static UNUSED int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Figures of a pattern beside its makespan: what its requests took, and how many it served. */
static char figures[256];

static UNUSED void report_latencies(uint64_t *taken_ns, size_t count)
{
	size_t length;
	double sum_ns = 0;

	for (size_t i = 0; i < count; i++)
		sum_ns += (double)taken_ns[i];
	qsort(taken_ns, count, sizeof(*taken_ns), compare_u64);
	length = strlen(figures);
	snprintf(figures + length, sizeof(figures) - length,
		 " p50_ns %lu p95_ns %lu p99_ns %lu mean_ns %.0f",
		 (unsigned long)taken_ns[count / 2], (unsigned long)taken_ns[count * 95 / 100],
		 (unsigned long)taken_ns[count * 99 / 100], sum_ns / (double)count);
}

static UNUSED void pieces_read(void)
{
	struct piece *pieces[] = { &work_a_piece, &work_b_piece, &work_c_piece, &work_d_piece,
				   &work_e_piece };

	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		piece_read(pieces[i]);
}

static UNUSED int truth_main(int argc, char **argv, const struct pattern *patterns)
{
	const struct pattern *pattern = patterns;
	uint64_t begin_ns;

	while (pattern->name && (argc < 2 || strcmp(pattern->name, argv[1])))
		pattern++;
	if (!pattern->name)
		die("no such pattern; see tests/truth/truth.def", argc < 2 ? "" : argv[1]);
	pieces_read();
	begin_ns = now_ns();
	pattern->run();
	printf("makespan_ns %lu%s\n", (unsigned long)(now_ns() - begin_ns), figures);
	return 0;
}

#endif
