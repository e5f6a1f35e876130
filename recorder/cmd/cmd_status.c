/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof status: what a process has recorded, lost, and has room for.
 */
#include "cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "visible.h"

enum { PPM_PERCENT = 10000 };

/* The losses and omissions of recording, by cause. */
static const struct {
	const char *name;
	const char *meaning;
} counters[] = {
#define COUNTER(name, is_loss, meaning) { #name, meaning },
#include "counters.def"
#undef COUNTER
};

/* The bound on the arena's memory, if one is known. */
static void print_bound(const char *object)
{
	char bound[64] = "", size[32];
	uint64_t bytes;

	if (!client_number(object, "bound_bytes", &bytes) ||
	    !client_string(object, "bound", bound, sizeof(bound)))
		return;
	cmd_format_bytes((double)bytes, size, sizeof(size));
	printf("  bound   %s more at most, for the sake of the %s (wcprof check)\n", size,
	       visible(bound));
}

static double to_ms(const char *object, const char *key)
{
	uint64_t ns = 0;

	(void)client_number(object, key, &ns);
	return (double)ns / 1e6;
}

/* About how much CPU time recording takes. */
static void print_cost(const char *object)
{
	double cpu_ms = to_ms(object, "cpu_ns"), window_ms = to_ms(object, "own_window_ns");

	printf("  cost    at least about %.1f%% of the CPU time while recording; so far %.1f ms "
	       "(events %.1f, slow paths %.1f, own thread %.1f, dumps %.1f)\n",
	       cpu_ms > 0 ? 100 * window_ms / cpu_ms : 0, to_ms(object, "own_ns"),
	       to_ms(object, "own_events_ns"), to_ms(object, "own_slow_ns"),
	       to_ms(object, "own_control_ns"), to_ms(object, "own_dumps_ns"));
}

/* How much of the time is recorded, so that it costs less than that. */
static void print_budget(const char *object)
{
	uint64_t budget = 0, share = 0, cost = 0, is_on = 0;

	if (!client_number(object, "budget_ppm", &budget))
		return;
	(void)client_number(object, "budget_share_ppm", &share);
	(void)client_number(object, "budget_cost_ppm", &cost);
	(void)client_number(object, "budget_window", &is_on);
	printf("  budget  %g%% of the CPU time: %.3g%% of the time is recorded, at %.3g%% of the "
	       "CPU time meanwhile; just now %s\n",
	       (double)budget / PPM_PERCENT, (double)share / PPM_PERCENT,
	       (double)cost / PPM_PERCENT, is_on ? "on" : "off");
}

/* When recording ends unless its lease is renewed. */
static void print_lease(const char *object)
{
	uint64_t left_ms;

	if (client_number(object, "lease_left_ms", &left_ms))
		printf("  lease   recording ends in %.3g s unless it is renewed\n",
		       (double)left_ms / 1e3);
}

static void print_recording(const char *object)
{
	uint64_t events = 0, most = 0, lost = 0, threads = 0, bytes = 0, dumps = 0, count;
	char arena[256] = "", size[32];

	(void)client_number(object, "events", &events);
	(void)client_number(object, "events_max", &most);
	(void)client_number(object, "dropped_events", &lost);
	(void)client_number(object, "threads", &threads);
	(void)client_number(object, "dumps", &dumps);
	(void)client_number(object, "arena_bytes", &bytes);
	(void)client_string(object, "arena", arena, sizeof(arena));
	cmd_format_bytes((double)bytes, size, sizeof(size));
	printf("  events  %" PRIu64 " in memory, room for at least %" PRIu64 "; %" PRIu64
	       " dropped\n",
	       events, most, lost);
	printf("  threads %" PRIu64 " seen\n  dumps   %" PRIu64 " handed out\n", threads, dumps);
	printf("  memory  %s, %s\n", size, visible(arena));
	print_bound(object);
	print_cost(object);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (client_number(object, counters[i].name, &count) && count > 0)
			printf("  %" PRIu64 " %s\n", count, counters[i].meaning);
}

static void print(const struct target *target, const char *object)
{
	char recording[16] = "", version[32] = "";

	(void)client_string(object, "recording", recording, sizeof(recording));
	(void)client_string(object, "version", version, sizeof(version));
	printf("%d %s: recording is %s (wcprof %s)\n", (int)target->pid, visible(target->name),
	       visible(recording), visible(version));
	print_budget(object);
	print_lease(object);
	if (strstr(object, "\"arena\":"))
		print_recording(object);
}

int cmd_status(struct cmd_options *options)
{
	return cmd_ask(options, "STATUS", print);
}
