/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up costs and prints them; costlines.h has the contract.
 *
 * CPU time is that of all classes whose time adds up. A figure that cannot be known is null.
 */
#include "costlines.h"

#include <inttypes.h>
#include <math.h>

#include "base/emit.h"
#include "costs.h"
#include "report/facts.h"
#include "report/requestfigures.h"

static double sum_of(const double *values, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum;
}

static double class_sum(const struct costs *costs, const struct cost_class *class,
			enum cost_part part)
{
	return sum_of(cost_amounts(costs, class, part), costs->stretch_count);
}

static double cpu_sum_ns(const struct costs *costs)
{
	double sum_ns = 0;
	for (size_t i = 0; i < costs->class_count; i++)
		if (!costs->classes[i].is_within)
			sum_ns += class_sum(costs, &costs->classes[i], COST_CPU);
	return sum_ns;
}

static void put_text(FILE *file, const char *key, const char *text)
{
	fprintf(file, "\"%s\":", key);
	emit_json_string(file, text);
}

static void put_ns(FILE *file, const char *key, double ns)
{
	if (isnan(ns))
		fprintf(file, ",\"%s\":null", key);
	else
		fprintf(file, ",\"%s\":%.0f", key, ns);
}

/* Times of holds, and parts of ways, are in other classes, too. */
static const char *sort_of(const struct cost_class *class)
{
	return class->is_within ? "within" : class->is_wait ? "wait" : "own";
}

static void put_class(FILE *file, const struct costs *costs, const struct cost_class *class)
{
	static const struct {
		const char *key;
		enum cost_part part;
	} parts[] = { { "time_ns", COST_TIME },
		      { "blocked_ns", COST_BLOCKED },
		      { "cpu_ns", COST_CPU },
		      { "queued_ns", COST_QUEUED } };
	fputc('{', file);
	put_text(file, "kind", class->kind);
	fputc(',', file);
	put_text(file, "class", class->name);
	fputc(',', file);
	put_text(file, "sort", sort_of(class));
	fprintf(file, ",\"count\":%.0f", class_sum(costs, class, COST_COUNT));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		put_ns(file, parts[i].key, class_sum(costs, class, parts[i].part));
	fputc('}', file);
}

static void put_classes(FILE *file, const struct costs *costs)
{
	const char *between = "";
	fputs(",\"classes\":[", file);
	for (size_t i = 0; i < costs->class_count; i++) {
		if (costs->classes[i].is_path)
			continue;
		fputs(between, file);
		put_class(file, costs, &costs->classes[i]);
		between = ",";
	}
	fputs("]}\n", file);
}

static void put_head(FILE *file, const char *path, const struct analysis *analysis,
		     const struct costs *costs)
{
	struct request_figures figures = { .ns = { [REQUEST_P50] = NAN, [REQUEST_P99] = NAN } };
	bool has_requests = costs->unit == UNIT_REQUEST;
	if (has_requests)
		request_figures_judged(&figures, &analysis->script.requests);
	fputc('{', file);
	put_text(file, "dump", path);
	fprintf(file, ",\"unit\":\"%s\",\"units\":%.0f,", has_requests ? "request" : "run",
		has_requests ? sum_of(costs->units, costs->stretch_count) : 1);
	put_text(file, "request",
		 has_requests ? facts_class_name(analysis, analysis->script.requests.judged_class)
			      : "");
	fprintf(file, ",\"dropped\":%" PRIu64, analysis->recording->dropped_events);
	put_ns(file, "cpu_ns", cpu_sum_ns(costs));
	put_ns(file, "makespan_ns", (double)analysis->actual_makespan_ns);
	put_ns(file, "p50_ns", figures.ns[REQUEST_P50]);
	put_ns(file, "p99_ns", figures.ns[REQUEST_P99]);
}

static void write_line(FILE *file, const char *path, const struct analysis *analysis)
{
	struct costs costs;
	costs_build(&costs, analysis, stretches_has_requests(analysis) ? UNIT_REQUEST : UNIT_RUN,
		    NULL);
	put_head(file, path, analysis, &costs);
	put_classes(file, &costs);
	costs_free(&costs);
}

int cost_lines_write(FILE *file, const struct options *options, char error[SIDES_ERROR_BYTES])
{
	for (size_t i = 0; i < options->path_count; i++) {
		char *path = options->paths[i];
		const struct side_recording from = { &path, 1 };
		struct side_analysis loaded;
		int failed = side_analyze(&loaded, &from, options, false, error);
		if (failed)
			return failed;
		write_line(file, path, &loaded.analysis);
		side_analysis_free(&loaded);
	}
	return 0;
}
