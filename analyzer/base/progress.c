/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes over one line again and again; progress.h has the contract.
 */
#include "progress.h"

#include <stdio.h>
#include <time.h>

enum { PROGRESS_PERIOD_MS = 100, PROGRESS_FIRST_MS = 500 };

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct progress progress_begin(void)
{
	return (struct progress){ .begun_ms = now_ms() };
}

void progress_of_reading(void *context, uint64_t bytes_done, uint64_t bytes_total)
{
	struct progress *progress = context;
	uint64_t now = now_ms(), elapsed_ms = now - progress->begun_ms;
	if (elapsed_ms < PROGRESS_FIRST_MS || now - progress->shown_ms < PROGRESS_PERIOD_MS)
		return;
	progress->shown_ms = now;
	double megabytes = (double)bytes_done / 1e6;
	if (bytes_total > 0)
		fprintf(stderr, "\rreading: %3.0f%% of %.0f MB, %.0f MB/s\033[K",
			100.0 * (double)bytes_done / (double)bytes_total, (double)bytes_total / 1e6,
			megabytes * 1e3 / (double)elapsed_ms);
	else
		fprintf(stderr, "\rreading: %.0f MB, %.0f MB/s\033[K", megabytes,
			megabytes * 1e3 / (double)elapsed_ms);
}

void progress_of_analysis(const char *what, size_t done, size_t total)
{
	static struct progress progress;
	uint64_t now = now_ms();
	if (!progress.begun_ms)
		progress.begun_ms = now;
	if (now - progress.begun_ms < PROGRESS_FIRST_MS ||
	    now - progress.shown_ms < PROGRESS_PERIOD_MS)
		return;
	progress.shown_ms = now;
	fprintf(stderr, "\r%s: %zu of %zu\033[K", what, done, total);
}
