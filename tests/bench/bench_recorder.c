/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording: nanoseconds per event and dump events per second.
 *
 * usage: bench_recorder [EVENTS]. Links the recorder, without hooks. Prints medians of several
 * rounds.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "dump.h"
#include "mark.h"
#include "record.h"
#include "sample.h"
#include "watch.h"

enum { ROUNDS = 9, SAMPLES_LESS = 10, EVENTS_USUAL = 400000 };
enum { POPULATE_WRITE = 23 }; /* MADV_, of newer headers */
/* A million events a second, as a busy server has. */
enum { BURST_EVENTS = 10000, BURST_NS = 10000000 };

static const char names[] = "read\0pthread_mutex_lock";
static const struct recorder_host host = {
	.call_names = names,
	.call_count = 2,
	.thread_create = pthread_create,
};
static char buffer[DUMP_BUFFER_BYTES];
static pthread_mutex_t lock;

static double now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void bench_op(void)
{
	struct self *self = self_enter();
	uint64_t op = op_begin(self, KIND_IO, 1, 0, 0, 0, __builtin_frame_address(0));

	self_leave(self);
	self = self_enter();
	op_end(self, op, OUTCOME_OK, 100);
	self_leave(self);
}

static void bench_wait(void)
{
	struct self *self = self_enter();
	uint64_t wait = wait_begin(self, REASON_MUTEX, 2, &lock, 0, 0, __builtin_frame_address(0));

	self_leave(self);
	self = self_enter();
	wait_end(self, wait, 0, 0);
	self_leave(self);
}

static void bench_hold(void)
{
	struct self *self = self_enter();
	struct watch *watch = watch_get(self, &lock, WATCH_MUTEX);
	struct hold_release release;

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	self_leave(self);
	self = self_enter();
	hold_release(self, watch, &release);
	hold_record(self, watch, &release);
	self_leave(self);
}

static void bench_link(void)
{
	struct self *self = self_enter();

	link_record(self, LINK_POST, 0, &lock, 0, 1);
	self_leave(self);
}

/* The time that a mark adds to the call at whose end it is due. */
static void bench_mark(void)
{
	struct self *self = self_enter();

	mark_write(self, clock_ticks());
	self_leave(self);
}

/* A sample, with the signal that takes it. */
static void bench_sample(void)
{
	siginfo_t info = { .si_signo = SAMPLE_SIGNAL, .si_code = SI_TIMER };

	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SAMPLE_SIGNAL, &info) != 0)
		abort();
}

/* Makes fresh memory of the arena's kind ready, so much at a time. A program would stand still for
 * that long; a record's share is printed beside it. */
static void bench_populate(size_t step_bytes)
{
	enum { ALL_BYTES = 1 << 26 };
	char *memory =
		mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double from = now_ns(CLOCK_THREAD_CPUTIME_ID), ns;

	if (memory == MAP_FAILED)
		abort();
	for (size_t at = 0; at < ALL_BYTES; at += step_bytes)
		if (madvise(memory + at, step_bytes, POPULATE_WRITE) != 0)
			abort();
	ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	printf("%4zu KB of new memory at once: %5.0f us a call, %.1f ns a record\n",
	       step_bytes / 1024, ns / (ALL_BYTES / (double)step_bytes) / 1e3,
	       ns / (ALL_BYTES / (double)sizeof(struct record)));
	munmap(memory, ALL_BYTES);
}

static void bench_unwatched(void)
{
	static char elsewhere[64];

	if (watch_find(elsewhere))
		abort();
}

static void bench_clocks(void)
{
	if (clock_ticks() > clock_ticks())
		abort();
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static void dump_all(void)
{
	struct dump dump;
	int null = open("/dev/null", O_WRONLY);
	double from, bytes = 0;

	if (dump_begin(&dump, recorder_arena, buffer, sizeof(buffer), DUMP_RUNNING) != 0)
		abort();
	from = now_ns(CLOCK_MONOTONIC);
	while (dump_fill(&dump)) {
		bytes += (double)dump.text.used;
		if (write(null, dump.text.bytes, dump.text.used) < 0)
			abort();
	}
	from = now_ns(CLOCK_MONOTONIC) - from;
	printf("dump            %6.2f million events/s, %.0f MB/s, %.0f bytes/event\n",
	       (double)dump.snapshot.event_count / from * 1e3, bytes / from * 1e3,
	       bytes / (double)dump.snapshot.event_count);
	dump_end(&dump, true);
	close(null);
}

/* CPU time, so that other processes on the machine do not count. */
static double cost_of(void (*one)(void), long events)
{
	double from = now_ns(CLOCK_THREAD_CPUTIME_ID);

	for (long k = 0; k < events; k++)
		one();
	return now_ns(CLOCK_THREAD_CPUTIME_ID) - from;
}

static void print_rounds(const char *what, double rounds[ROUNDS])
{
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	printf("%-15s %6.1f ns (%.1f to %.1f)\n", what, rounds[ROUNDS / 2], rounds[0],
	       rounds[ROUNDS - 1]);
}

static void measure(const char *what, void (*one)(void), long events)
{
	double rounds[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		rounds[i] = cost_of(one, events) / (double)events;
	print_rounds(what, rounds);
}

static void pause_ns(double ns)
{
	struct timespec pause = { 0, (long)ns };

	if (ns > 0)
		nanosleep(&pause, NULL);
}

/* The same with pauses, in which the control thread may get ahead. */
static void measure_bursts(const char *what, void (*one)(void), long events)
{
	double rounds[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		double next = now_ns(CLOCK_MONOTONIC), cost = 0;
		long bursts = events / BURST_EVENTS;

		for (long k = 0; k < bursts; k++) {
			cost += cost_of(one, BURST_EVENTS);
			next += BURST_NS;
			pause_ns(next - now_ns(CLOCK_MONOTONIC));
		}
		rounds[i] = cost / (double)(bursts * BURST_EVENTS);
	}
	print_rounds(what, rounds);
}

/* In a process of its own: memory that nobody has used yet, with or without a control thread that
 * makes some of it ready. */
static void measure_new(const char *what, bool has_control, long events,
			void (*how)(const char *, void (*)(void), long))
{
	fflush(stdout);
	if (fork() == 0) {
		setenv("WCPROF_CONTROL", has_control ? "on" : "off", 1);
		recorder_start(&host);
		how(what, bench_op, events);
		fflush(stdout);
		recorder_image_ends(END_EXIT);
		_exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	long events = argc > 1 ? atol(argv[1]) : EVENTS_USUAL;

	for (size_t step_bytes = 4096; step_bytes <= 4 << 20; step_bytes *= 8)
		bench_populate(step_bytes);
	setenv("WCPROF_ENABLE", "1", 1);
	measure_new("op, new memory", false, events, measure);
	measure_new("  made ready", true, events, measure_bursts);
	measure_new("  flat out", true, events, measure);
	setenv("WCPROF_CONTROL", "off", 0);
	recorder_start(&host);
	measure("two clock reads", bench_clocks, events);
	measure("unwatched lock", bench_unwatched, events);
	/* Memory that was used before. */
	(void)cost_of(bench_op, ROUNDS * events);
	dump_all();
	measure("op", bench_op, events);
	dump_all();
	measure("wait", bench_wait, events);
	dump_all();
	measure("hold", bench_hold, events);
	dump_all();
	measure("link", bench_link, events);
	dump_all();
	measure("mark", bench_mark, events);
	dump_all();
	if (sample_install())
		measure("sample", bench_sample, events / SAMPLES_LESS);
	recorder_image_ends(END_EXIT);
	return 0;
}
