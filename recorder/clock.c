/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's clock. See clock.h.
 *
 * The kernel trusts the time stamp counter when it is its own clock source: then it runs at one rate on
 * all processors and in all power states (and CPUID must say so as well). The rate is not taken from
 * CPUID but measured against CLOCK_MONOTONIC, between two moments at least CALIBRATION_NS apart.
 */
#include "clock.h"

#include <cpuid.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "syscalls.h"

#include "in_target.h"

enum { CALIBRATION_NS = 20000000, PAIR_TRIES = 9, CALIBRATION_PAUSE_NS = 5000000 };

uint32_t clock_kind;
uint64_t clock_test_ticks;

static uint64_t read_ns(clockid_t id)
{
	struct timespec now = {0, 0};

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool counter_is_invariant(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8));
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
	clock_kind = counter_is_invariant() && kernel_trusts_counter() ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC;
}

uint64_t clock_slow_ticks(void)
{
	return clock_kind == CLOCK_KIND_MONOTONIC ? read_ns(CLOCK_MONOTONIC) : clock_test_ticks;
}

uint64_t clock_ticks(void)
{
	return clock_now_ticks();
}

struct clock_pair clock_take_pair(void)
{
	struct clock_pair best = {0, 0, 0};
	uint64_t best_gap = UINT64_MAX;

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = clock_now_ticks();
		uint64_t mono_ns = read_ns(CLOCK_MONOTONIC);
		uint64_t gap = clock_now_ticks() - before;

		if (gap >= best_gap)
			continue;
		best_gap = gap;
		best.ticks = before + gap / 2;
		best.mono_ns = mono_ns;
		best.real_ns = read_ns(CLOCK_REALTIME) - (read_ns(CLOCK_MONOTONIC) - mono_ns);
	}
	return best;
}

uint64_t clock_rate(const struct clock_pair *from, const struct clock_pair *to, uint32_t kind)
{
	if (kind != CLOCK_KIND_TSC)
		return (uint64_t)1 << 32;
	if (to->mono_ns < from->mono_ns + CALIBRATION_NS || to->ticks <= from->ticks)
		return 0;
	return (uint64_t)(((unsigned __int128)(to->mono_ns - from->mono_ns) << 32) / (to->ticks - from->ticks));
}

uint64_t clock_measure_rate(const struct clock_pair *from, uint32_t kind)
{
	struct clock_pair now = clock_take_pair();
	uint64_t rate = clock_rate(from, &now, kind);

	while (rate == 0) {
		sys_pause_ns(CALIBRATION_PAUSE_NS);
		now = clock_take_pair();
		rate = clock_rate(from, &now, kind);
	}
	return rate;
}
