/* SPDX-License-Identifier: Apache-2.0 */
/* A window as a row: whose it is, and how far to trust the other rows. */
#include <math.h>
#include <string.h>

#include "report/facts.h"
#include "report/requestfigures.h"
#include "report/verdict.h"
#include "rows_parts.h"

struct row_id rows_window_id(const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	struct row_id id = row_id_begin();
	for (size_t i = 0; i < recording->process_count; i++) {
		const struct rec_process *process = &recording->processes[i];
		row_id_add_text(&id, recording->strings[process->host]);
		row_id_add_text(&id, recording->strings[process->boot]);
		row_id_add_number(&id, process->pid);
		row_id_add_number(&id, process->start_unix_ns);
	}
	row_id_add_number(&id, recording->epoch_unix_ns + analysis->graph.start_ns);
	row_id_add_number(&id, analysis->span_ns);
	return id;
}

const char *rows_tag(const struct options *options, const char *key)
{
	size_t length = strlen(key);
	for (size_t i = options->tags.count; i-- > 0;)
		if (strncmp(options->tags.texts[i], key, length) == 0 &&
		    options->tags.texts[i][length] == '=')
			return options->tags.texts[i] + length + 1;
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* That of the service, else the build id of the program's own file; "" = it has none. */
static const char *version_of(const struct recording *recording, uint32_t process)
{
	if (recording->processes[process].service_version)
		return recording->strings[recording->processes[process].service_version];
	for (size_t i = 0; i < recording->module_count; i++)
		if (recording->modules[i].process == process &&
		    recording->modules[i].path == recording->processes[process].exe)
			return recording->strings[recording->modules[i].build_id];
	return "";
}

static void put_tagged(struct rows *rows, const char *column, const char *otherwise)
{
	const char *tag = rows_tag(rows->options, column);
	row_text(rows, column, tag ? tag : otherwise);
}

void rows_put_whose(struct rows *rows)
{
	const struct recording *recording = rows->analysis->recording;
	const struct thread_table *threads = &rows->analysis->threads;
	static const struct rec_process nobody;
	struct request_figures figures;
	uint32_t index = threads->process_count ? threads->processes[0].process : NO_INDEX;
	const struct rec_process *process =
		index == NO_INDEX ? &nobody : &recording->processes[index];
	row_time(rows, "ts", rows->analysis->graph.start_ns);
	put_tagged(rows, "service",
		   process->service ? recording->strings[process->service]
				    : base_name(recording->strings[process->exe]));
	put_tagged(rows, "version", index == NO_INDEX ? "" : version_of(recording, index));
	put_tagged(rows, "host", recording->strings[process->host]);
	row_count(rows, "pid", process->pid);
	row_text(rows, "boot_id", recording->strings[process->boot]);
	row_count(rows, "cpus", process->cpus);
	request_figures_judged(&figures, &rows->analysis->script.requests);
	row_count(rows, "window_ns", rows->analysis->span_ns);
	row_count(rows, "makespan_ns", rows->analysis->actual_makespan_ns);
	row_count(rows, "requests", figures.count);
}

static double own_share(const struct recording *recording)
{
	uint64_t cpu_ns = 0, own_ns = 0;
	for (size_t i = 0; i < recording->process_count; i++) {
		cpu_ns += recording->processes[i].cpu_ns;
		own_ns += recording->processes[i].own_window_ns;
	}
	return cpu_ns ? (double)own_ns / (double)cpu_ns : NAN;
}

static void put_other_tags(struct rows *rows)
{
	static const char *const own[] = { "service=", "version=", "host=" };
	const struct text_list *tags = &rows->options->tags;
	row_map_begin(rows, "tags");
	for (size_t i = 0; i < tags->count; i++) {
		bool is_own = false;
		char key[64];
		for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
			is_own |= strncmp(tags->texts[i], own[k], strlen(own[k])) == 0;
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(tags->texts[i], "="),
			 tags->texts[i]);
		if (!is_own && rows_tag(rows->options, key) == strchr(tags->texts[i], '=') + 1)
			row_map_text(rows, key, rows_tag(rows->options, key));
	}
	row_map_end(rows);
}

void rows_of_window(struct rows *rows)
{
	const struct analysis *analysis = rows->analysis;
	const struct checks *checks = &analysis->checks;
	row_begin(rows, ROWS_WINDOW);
	rows_put_whose(rows);
	row_number(rows, "drift", facts_drift_percent(analysis) / 100);
	row_count(rows, "dropped", analysis->recording->dropped_events);
	row_number(rows, "own_share", own_share(analysis->recording));
	row_text(rows, "answers", checks->is_withheld ? "withheld" : "given");
	row_text(rows, "why", checks->is_withheld ? checks->rows[checks->gravest].line : "");
	put_other_tags(rows);
	row_end(rows);
}
