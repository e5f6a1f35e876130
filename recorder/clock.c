/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's clock. See clock.h.
 *
 * The kernel trusts the time stamp counter when it is its own clock source. Then the counter runs
 * at one rate on all processors and in all power states; CPUID must say so as well. The rate is not
 * taken from CPUID but measured against CLOCK_MONOTONIC, between two moments.
 */
#include "clock.h"

#include <cpuid.h>
#include <string.h>
#include <time.h>

#include "atomics.h"
#include "record.h"
#include "syscalls.h"

#include "in_target.h"

/* Over NEAR_NS a rate that was just measured may be all wrong; more apart, that much less. */
enum { PAIR_TRIES = 9, NEAR_NS = 10000 };

uint32_t clock_kind;
uint64_t clock_test_ticks;

/* Written by clock_start(), and by the first who measures over CLOCK_APART_NS. */
static struct clock_pair start_pair;
static uint64_t known_rate;

int (*recorder_kernel_clock)(clockid_t, struct timespec *);

uint64_t recorder_clock_ns(clockid_t id)
{
	struct timespec now = { 0, 0 };

	if (!recorder_kernel_clock || recorder_kernel_clock(id, &now) != 0)
		(void)sys_clock_time(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool counter_is_invariant(void)
{
	unsigned int eax, ebx, ecx, edx;

	/* Each CPU of this mode has the leaf. To ask for that takes 5 us in a virtual machine. */
	__cpuid(0x80000007, eax, ebx, ecx, edx);
	return edx & (1u << 8);
}

static bool kernel_trusts_counter(void)
{
	char name[16] = "";
	int fd = sys_open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			  O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	(void)sys_read(fd, name, sizeof(name) - 1);
	sys_close(fd);
	return strncmp(name, "tsc", 3) == 0 && (name[3] == '\n' || name[3] == '\0');
}

void clock_start(void)
{
	clock_kind = counter_is_invariant() && kernel_trusts_counter() ? CLOCK_KIND_TSC
								       : CLOCK_KIND_MONOTONIC;
	start_pair = clock_take_pair();
	known_rate = 0;
}

uint64_t clock_slow_ticks(void)
{
	return clock_kind == CLOCK_KIND_MONOTONIC ? recorder_clock_ns(CLOCK_MONOTONIC)
						  : clock_test_ticks;
}

uint64_t clock_ticks(void)
{
	return clock_now_ticks();
}

uint64_t clock_thread_cpu_ns(void)
{
	return recorder_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool clock_cpu_ns_of(uint32_t tid, uint64_t *cpu_ns)
{
	struct timespec used = { 0, 0 };

	if (sys_clock_time(clock_id_of(tid), &used) != 0)
		return false;
	*cpu_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	return true;
}

struct clock_pair clock_take_pair(void)
{
	struct clock_pair best = { 0, 0, 0 };
	uint64_t best_gap = UINT64_MAX;

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = clock_now_ticks();
		uint64_t mono_ns = recorder_clock_ns(CLOCK_MONOTONIC);
		uint64_t between = clock_now_ticks();
		uint64_t real_ns = recorder_clock_ns(CLOCK_REALTIME);
		uint64_t gap = clock_now_ticks() - before;

		if (gap >= best_gap)
			continue;
		best_gap = gap;
		best.ticks = before + (between - before) / 2;
		best.mono_ns = mono_ns;
		best.real_ns = real_ns;
	}
	return best;
}

static uint64_t rate_between(const struct clock_pair *from, const struct clock_pair *to)
{
	return (uint64_t)(((unsigned __int128)(to->mono_ns - from->mono_ns) << 32) /
			  (to->ticks - from->ticks));
}

uint64_t clock_measure_rate(const struct clock_pair *from, uint32_t kind, uint64_t apart_ns)
{
	struct clock_pair now = clock_take_pair();

	if (kind != CLOCK_KIND_TSC)
		return (uint64_t)1 << 32;
	while (now.mono_ns < from->mono_ns + apart_ns || now.ticks <= from->ticks) {
		sys_pause_ns((long)apart_ns / 4);
		now = clock_take_pair();
	}
	return rate_between(from, &now);
}

uint64_t clock_own_rate(uint64_t apart_ns)
{
	uint64_t rate = load_relaxed(&known_rate);
	struct clock_pair now = clock_take_pair();

	if (rate != 0)
		return rate;
	rate = clock_measure_rate(&start_pair, clock_kind, apart_ns);
	if (apart_ns >= CLOCK_APART_NS || now.mono_ns >= start_pair.mono_ns + CLOCK_APART_NS)
		store_relaxed(&known_rate, rate);
	return rate;
}

uint64_t clock_ticks_of(uint64_t ns)
{
	if (ns == 0)
		return 0;
	return (uint64_t)(((unsigned __int128)ns << 32) / clock_own_rate(CLOCK_APART_LEAST_NS));
}

uint64_t clock_rate_of(const struct clock_scale *scale, uint64_t apart_ns)
{
	struct clock_pair now = clock_take_pair();
	bool is_past =
		now.mono_ns > scale->base.mono_ns + apart_ns && now.ticks > scale->base.ticks;
	uint64_t rate = is_past ? rate_between(&scale->base, &now) : 0;
	uint64_t own, part = apart_ns / NEAR_NS;

	if (scale->kind != CLOCK_KIND_TSC || clock_kind != CLOCK_KIND_TSC)
		return scale->kind == CLOCK_KIND_TSC && is_past ? rate : (uint64_t)1 << 32;
	own = clock_own_rate(apart_ns);
	return rate > own - own / part && rate < own + own / part ? rate : own;
}

uint64_t clock_mono_ns(void)
{
	return recorder_clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_ticks_at(uint64_t mono_ns)
{
	uint64_t rate = load_relaxed(&known_rate);
	uint64_t now_ns = recorder_clock_ns(CLOCK_MONOTONIC);
	uint64_t now_ticks = clock_now_ticks();
	uint64_t ago;

	if (mono_ns >= now_ns)
		return now_ticks;
	if (rate == 0)
		rate = clock_own_rate(CLOCK_APART_LEAST_NS);
	ago = (uint64_t)(((unsigned __int128)(now_ns - mono_ns) << 32) / rate);
	return ago < now_ticks ? now_ticks - ago : 0;
}
