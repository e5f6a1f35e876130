/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics. See metrics.h.
 */
#include "metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "procfs.h"

enum { PATH_BYTES = 1024, STATM_BYTES = 256 };

struct metrics metrics;

static const struct {
	const char *name, *type, *help;
	const double *value;
} rows[] = {
#define METRIC(name, type, help) { #name, #type, help, &metrics.name },
#include "metrics.def"
#undef METRIC
};

static double seconds_of(int who)
{
	struct rusage usage;

	if (getrusage(who, &usage) != 0)
		return 0;
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void metrics_measure(void)
{
	char text[STATM_BYTES];
	unsigned long pages, resident;

	metrics.own_seconds_total = seconds_of(RUSAGE_SELF);
	/* Nothing else is a child. */
	metrics.analyses_seconds_total = seconds_of(RUSAGE_CHILDREN);
	if (procfs_read_file("/proc/self/statm", text, sizeof(text)) > 0 &&
	    sscanf(text, "%lu %lu", &pages, &resident) == 2)
		metrics.own_resident_bytes = (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void metrics_put(struct body *body)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		body_printf(body,
			    "# HELP wcprof_agent_%s %s\n# TYPE wcprof_agent_%s %s\n"
			    "wcprof_agent_%s %.15g\n",
			    rows[i].name, rows[i].help, rows[i].name, rows[i].type, rows[i].name,
			    *rows[i].value);
}

static int write_all(const char *path, const struct body *body)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	size_t used = 0;
	ssize_t written = 1;

	if (fd < 0)
		return -errno;
	while (used < body->used && written > 0) {
		written = write(fd, body->bytes + used, body->used - used);
		used += written > 0 ? (size_t)written : 0;
	}
	if (close(fd) != 0 || used < body->used)
		return errno ? -errno : -EIO;
	return 0;
}

int metrics_write(const char *path)
{
	struct body body = { 0 };
	char beside[PATH_BYTES];
	int result;

	/* node_exporter reads names that end in .prom alone. */
	snprintf(beside, sizeof(beside), "%s.tmp", path);
	metrics_put(&body);
	result = body.has_failed ? -ENOMEM : write_all(beside, &body);
	if (result == 0 && rename(beside, path) != 0)
		result = -errno;
	if (result != 0)
		(void)unlink(beside);
	body_free(&body);
	return result;
}
