/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof status: what a process has recorded, lost, and has room for.
 */
#include "cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "visible.h"

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
	printf("  events  %" PRIu64 " in memory, room for %" PRIu64 "; %" PRIu64 " dropped\n",
	       events, most, lost);
	printf("  threads %" PRIu64 " seen\n  dumps   %" PRIu64 " handed out\n", threads, dumps);
	printf("  memory  %s, %s\n", size, visible(arena));
	print_bound(object);
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
	if (strstr(object, "\"arena\":"))
		print_recording(object);
}

int cmd_status(struct cmd_options *options)
{
	return cmd_ask(options, "STATUS", print);
}
