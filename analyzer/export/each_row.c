/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump's answer as rows: of each of its windows one. As a table for people it is the same with
 * fewer columns.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "each_parts.h"
#include "report/eachwindow.h"
#include "rows_parts.h"

enum { DUMP_COLUMNS = 36, HOST_COLUMNS = 16 };

struct each_asked {
	FILE *file;
	const char *dump, *question;
	const struct options *options;
	bool is_table;
};

char *each_row_begin(const char *dump, const char *question)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	fputs("{\"dump\":", file);
	emit_json_string(file, dump);
	fputs(",\"question\":", file);
	emit_json_string(file, question);
	fputs(",\"answers\":", file);
	fclose(file);
	return text;
}

/* --- For people --- */

static void put_cell(FILE *file, const char *text, size_t columns)
{
	char *printable = utf8_printable(text), *cut = utf8_shorten(printable, columns);
	fprintf(file, "%s%*s", cut, (int)(columns - utf8_columns(cut)) + 2, "");
	free(cut);
	free(printable);
}

void each_row_head(FILE *file)
{
	put_cell(file, "dump", DUMP_COLUMNS);
	put_cell(file, "host", HOST_COLUMNS);
	fprintf(file, "%11s  %7s  %s\n", "saved", "of run", "range");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void put_table_row(const struct each_asked *asking, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	const struct estimate *estimate = &analysis->asked.answers[0].estimate;
	const struct checks *checks = &analysis->checks;
	double percent = analysis->whatif.baseline.makespan_ns > 0
				 ? 100 / analysis->whatif.baseline.makespan_ns
				 : 0;
	char saved[EMIT_DURATION_BYTES];
	put_cell(asking->file, base_name(asking->dump), DUMP_COLUMNS);
	put_cell(asking->file,
		 recording->process_count ? recording->strings[recording->processes[0].host] : "",
		 HOST_COLUMNS);
	emit_format_duration(saved, estimate->saved_ns);
	if (checks->is_withheld)
		fprintf(asking->file, "%11s  %s\n", "withheld", checks->rows[checks->gravest].line);
	else
		fprintf(asking->file, "%11s  %6.1f%%  %.1f..%.1f%%\n", saved,
			percent * estimate->saved_ns, percent * estimate->least_ns,
			percent * estimate->most_ns);
}

/* --- For programs --- */

static void put_row(const struct each_asked *asking, const struct analysis *analysis)
{
	const struct checks *checks = &analysis->checks;
	char *begin = each_row_begin(asking->dump, asking->question);
	struct rows rows = { .options = asking->options,
			     .analysis = analysis,
			     .file = asking->file,
			     .has_entry = true };
	fprintf(asking->file, "%s\"%s\"", begin, checks->is_withheld ? "withheld" : "given");
	free(begin);
	row_text(&rows, "why", checks->is_withheld ? checks->rows[checks->gravest].line : "");
	row_text(&rows, "window", row_id_text(rows_window_id(analysis), rows.window));
	rows_put_whose(&rows);
	rows_put_saving(&rows, checks->is_withheld ? NULL : &analysis->asked.answers[0].estimate);
	row_end(&rows);
}

static void visit(void *context, const struct analysis *analysis)
{
	const struct each_asked *asking = context;
	if (asking->is_table)
		put_table_row(asking, analysis);
	else
		put_row(asking, analysis);
}

void each_row_fail(FILE *file, const char *dump, const char *question, const char *why,
		   bool is_table)
{
	if (is_table) {
		put_cell(file, base_name(dump), DUMP_COLUMNS);
		put_cell(file, "", HOST_COLUMNS);
		fprintf(file, "%11s  ", "error");
		put_cell(file, why, strlen(why));
		fputc('\n', file);
		return;
	}
	char *begin = each_row_begin(dump, question);
	fprintf(file, "%s\"error\",\"why\":", begin);
	emit_json_string(file, why);
	fputs("}\n", file);
	free(begin);
}

void each_row_write(FILE *file, const struct options *of_each, char *dump, bool is_table)
{
	char error[EACH_WINDOW_ERROR_BYTES], *rows = NULL;
	char *const paths[] = { dump };
	size_t length;
	struct options options = *of_each;
	options.paths = paths;
	options.path_count = 1;
	options.what_ifs = (struct text_list){ { of_each->paths[0] }, 1 };
	options.min_self_ns = UINT64_MAX; /* there is no other question */
	options.progress = NULL;
	struct each_asked asking = { .dump = dump,
				     .question = of_each->paths[0],
				     .options = of_each,
				     .is_table = is_table };
	asking.file = open_memstream(&rows, &length);
	int failed = each_window_of_dumps(&options, visit, &asking, error);
	fclose(asking.file);
	/* all windows have rows, or the dump is an error */
	if (failed)
		each_row_fail(file, dump, asking.question, error, is_table);
	else
		fwrite(rows, 1, length, file);
	free(rows);
}
