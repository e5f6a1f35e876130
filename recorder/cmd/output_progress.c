/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a dump is. See output_progress.h.
 */
#include "output_progress.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cmd.h"

enum { PERIOD_NS = 200000000 };

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void output_progress_begin(struct output_progress *progress)
{
	*progress = (struct output_progress){ .stream = progress->stream };
	if (progress->stream)
		progress->begun_ns = now_ns();
}

static void show(struct output_progress *progress, uint64_t now)
{
	double seconds = (double)(now - progress->begun_ns) / 1e9;
	char size[32], rate[32];

	/* The first line is the header. */
	uint64_t events = progress->lines > 0 ? progress->lines - 1 : 0;

	cmd_format_bytes((double)progress->bytes, size, sizeof(size));
	cmd_format_bytes(seconds > 0 ? (double)progress->bytes / seconds : 0, rate, sizeof(rate));
	fprintf(progress->stream, "\r\033[Kwcprof: %" PRIu64, events);
	if (progress->events >= events && progress->events > 0)
		fprintf(progress->stream, " of %" PRIu64 " events (%.0f%%)", progress->events,
			100.0 * (double)events / (double)progress->events);
	else
		fputs(" events", progress->stream);
	fprintf(progress->stream, ", %s, %s/s", size, rate);
	fflush(progress->stream);
	progress->shown_ns = now;
}

void output_progress_add(struct output_progress *progress, const char *bytes, size_t count)
{
	uint64_t now;

	if (!progress->stream)
		return;
	progress->bytes += count;
	for (const char *at = bytes, *end = bytes + count;
	     (at = memchr(at, '\n', (size_t)(end - at))); at++)
		progress->lines++;
	now = now_ns();
	if (progress->shown_ns == 0 || now - progress->shown_ns >= PERIOD_NS)
		show(progress, now);
}

void output_progress_end(struct output_progress *progress)
{
	if (progress->shown_ns == 0)
		return;
	fputs("\r\033[K", progress->stream);
	fflush(progress->stream);
	progress->shown_ns = 0;
}
