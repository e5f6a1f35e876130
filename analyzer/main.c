/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wcprof-analyze command: reads dumps, analyzes them, prints the reports.
 *
 * The only place that prints errors and decides the exit status:
 *
 *   0   done
 *   1   --symbolize refused files; --diff found NEW worse; --each had rows that are errors
 *   2   wrong usage, a dump that cannot be read, or output that cannot be written
 *   3   answers are withheld (report/verdict.c); --diff cannot tell
 */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/allowance.h"
#include "base/assumptions.h"
#include "base/emit.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/outfile.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "diff/costlines.h"
#include "diff/diff.h"
#include "export/each.h"
#include "export/exporters.h"
#include "export/folded.h"
#include "export/foldedtail.h"
#include "export/page.h"
#include "export/requestlines.h"
#include "export/rows.h"
#include "export/slowing.h"
#include "format.h"
#include "names/symbolize.h"
#include "read/read.h"
#include "report/analysis.h"
#include "report/explain.h"
#include "report/onetrace.h"
#include "report/opened.h"
#include "report/reports.h"
#include "report/windowmeans.h"

enum { EXIT_REFUSED = 1, EXIT_WORSE = 1, EXIT_UNANSWERED = 1, EXIT_TROUBLE = 2, EXIT_WITHHELD = 3 };

static const char version_text[] = "wcprof-analyze " WCPROF_VERSION "\n";

/* One line on standard error, whatever is in the names of which it speaks. */
static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *format, ...)
{
	char *text = NULL, *printable;
	va_list arguments;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	printable = utf8_printable(text ? text : "out of memory");
	fprintf(stderr, "wcprof-analyze: %s\n", printable);
	free(printable);
	free(text);
}

static bool has_progress(const struct options *options)
{
	return !options->quiet && isatty(STDERR_FILENO);
}

static void complain_of_dump(const struct read_error *error)
{
	if (error->line)
		complain("%s:%llu: %s", error->file, (unsigned long long)error->line, error->text);
	else
		complain("%s: %s", error->file ? error->file : "", error->text);
}

static int read_dumps(struct recording *recording, const struct options *options)
{
	struct read_error error = { 0 };
	struct progress state = progress_begin();
	const struct read_progress progress = { progress_of_reading, &state };
	int result = recording_read(recording, options->paths, options->path_count, &error,
				    has_progress(options) ? &progress : NULL);
	if (state.shown_ms)
		fputs("\r\033[K", stderr);
	if (result == 0)
		return 0;
	complain_of_dump(&error);
	return EXIT_TROUBLE;
}

static void begin_output(struct emit *emit, const struct options *options)
{
	if (has_progress(options))
		fputs("\r\033[K", stderr);
	emit_begin(emit, stdout, options->json ? EMIT_JSON : EMIT_TEXT,
		   terminal_columns(options->wide), terminal_wants_color(options->color));
}

static bool asks_for_tail(const struct options *options)
{
	return options->tail && options->tail[0];
}

static bool write_tail_stacks(enum folded_of of, const struct analysis *analysis)
{
	char said[FOLDED_TAIL_BYTES];
	bool has_tail = folded_tail_write_stacks(stdout, of, analysis, said);
	if (!has_tail || !analysis->options->quiet)
		complain("%s", said);
	return has_tail;
}

static bool write_tail_parts(const struct analysis *analysis)
{
	bool has_tail = folded_tail_write(stdout, analysis);
	if (!has_tail)
		complain("--folded tail: there are too few requests that were finished");
	return has_tail;
}

/* `of`: NULL: the parts of requests. */
static int print_folded_tail(const enum folded_of *of, const struct recording *recording,
			     const struct options *options, const struct labels *labels)
{
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	if (analysis_measure(&analysis, recording, options, labels, error) != 0) {
		complain("%s", error);
		return EXIT_TROUBLE;
	}
	bool has_tail = of ? write_tail_stacks(*of, &analysis) : write_tail_parts(&analysis);
	analysis_free(&analysis);
	return has_tail ? 0 : EXIT_TROUBLE;
}

static int print_folded(const struct recording *recording, const struct options *options,
			const struct labels *labels)
{
	enum folded_of of;
	if (strcmp(options->folded, "tail") == 0)
		return print_folded_tail(NULL, recording, options, labels);
	if (!folded_parse(options->folded, &of)) {
		complain("--folded: \"%.60s\" is none of wait, cpu, wall, lock, tail; "
			 "give one of them",
			 options->folded);
		return EXIT_TROUBLE;
	}
	if (asks_for_tail(options))
		return print_folded_tail(&of, recording, options, labels);
	folded_print(stdout, of, recording, labels);
	return 0;
}

static int print_explained(const struct recording *recording, const struct options *options,
			   const struct labels *labels)
{
	char error[OPTIONS_ERROR_BYTES];
	if (explain_write(stdout, recording, options, labels, error) == 0)
		return 0;
	complain("%s", error);
	return EXIT_TROUBLE;
}

static int print_slow_rules(const struct recording *recording, const struct options *options,
			    const struct labels *labels)
{
	char error[OPTIONS_ERROR_BYTES];
	if (slowing_write(stdout, recording, options, labels, error) == 0)
		return 0;
	complain("%s", error);
	return EXIT_TROUBLE;
}

/* A file that an option names. */
static FILE *create_file(const char *option, const char *path)
{
	FILE *file = outfile_create(path);
	if (!file)
		complain("--%s: %s: %s; give another name", option, path,
			 errno == EPERM ? "others may have put it there" : strerror(errno));
	return file;
}

static int write_page(const struct analysis *analysis, const char *path, bool is_quiet)
{
	FILE *file = strcmp(path, "-") == 0 ? stdout : create_file("html", path);
	if (!file)
		return EXIT_TROUBLE;
	bool is_written = page_write(file, analysis) && !ferror(file);
	if (file != stdout)
		is_written = fclose(file) == 0 && is_written;
	if (!is_written)
		complain("--html: %s: cannot be written: is the disk full?", path);
	else if (file != stdout && !is_quiet)
		complain("%s written: open it in a browser", path);
	return is_written ? 0 : EXIT_TROUBLE;
}

static int write_export(const struct analysis *analysis, const struct options *options)
{
	char said[EXPORT_SAID_BYTES], error[EXPORT_ERROR_BYTES];
	int failed = exporters_write(analysis, said, error);
	if (failed || !options->quiet)
		complain("%s", failed ? error : said);
	return failed ? EXIT_TROUBLE : 0;
}

static int write_requests(const struct analysis *analysis, const char *path)
{
	FILE *file = strcmp(path, "-") == 0 ? stdout : create_file("requests", path);
	if (!file)
		return EXIT_TROUBLE;
	request_lines_write(file, analysis);
	bool is_written = !ferror(file);
	if (file != stdout)
		is_written = fclose(file) == 0 && is_written;
	if (!is_written)
		complain("--requests: %s: cannot be written: is the disk full?", path);
	return is_written ? 0 : EXIT_TROUBLE;
}

/* Whether there is no report: only what other programs read. */
static bool has_no_report(const struct options *options)
{
	return (options->export[0] || (options->requests[0] && !options->json)) &&
	       !options->html[0];
}

/* All of the analysis, or for an export that has no answers only what it measures. */
static int build(struct analysis *analysis, const struct recording *recording,
		 const struct options *options, const struct labels *labels)
{
	char error[OPTIONS_ERROR_BYTES];
	bool has_answers =
		!has_no_report(options) || (options->export[0] && exporters_need_answers(options));
	int failed = has_answers ? analysis_build(analysis, recording, options, labels, error)
				 : analysis_measure(analysis, recording, options, labels, error);
	if (failed)
		complain("%s", error);
	else if (has_progress(options))
		fputs("\r\033[K", stderr);
	return failed ? EXIT_TROUBLE : 0;
}

/* That is asked for, if one is. */
static bool has_trace(const struct analysis *analysis, const struct options *options)
{
	char error[OPTIONS_ERROR_BYTES];
	struct one_trace one;
	if (!options->trace[0] || one_trace_find(&one, analysis, error) == 0)
		return true;
	complain("%s", error);
	return false;
}

static int print_reports(const struct recording *recording, const struct options *options,
			 const struct labels *labels)
{
	struct analysis analysis;
	struct emit emit;
	if (build(&analysis, recording, options, labels) != 0)
		return EXIT_TROUBLE;
	if (!has_trace(&analysis, options)) {
		analysis_free(&analysis);
		return EXIT_TROUBLE;
	}
	bool is_export_alone = has_no_report(options);
	int status = options->html[0] ? write_page(&analysis, options->html, options->quiet) : 0;
	if (status == 0 && options->export[0])
		status = write_export(&analysis, options);
	if (status == 0 && options->requests[0])
		status = write_requests(&analysis, options->requests);
	if (!is_export_alone && (!options->html[0] || options->json)) {
		begin_output(&emit, options);
		reports_print_shown(&analysis, &emit);
		emit_end(&emit);
	}
	for (size_t i = 0; options->json && !options->quiet && i < analysis.warning_count; i++)
		complain("warning: %s", analysis.warnings[i]);
	if (status == 0 && analysis.checks.is_withheld && !is_export_alone)
		status = EXIT_WITHHELD;
	analysis_free(&analysis);
	return status;
}

static int write_symbolized(struct recording *recording, const struct options *options)
{
	int result = symbolize_dumps(recording, options, complain);
	return result < 0 ? EXIT_TROUBLE : result > 0 ? EXIT_REFUSED : 0;
}

/* Assumptions that --without names do not hold from here on. */
static int set_aside(const struct text_list *names)
{
	char all[1024];
	for (size_t i = 0; i < names->count; i++) {
		if (assumptions_set_aside(names->texts[i]))
			continue;
		assumptions_list(all, sizeof(all), false);
		complain("--without: there is no assumption \"%.60s\"; give one of %s",
			 names->texts[i], all);
		return EXIT_TROUBLE;
	}
	return 0;
}

static int analyze(struct recording *recording, const struct options *options)
{
	struct labels labels;
	char error[OPTIONS_ERROR_BYTES];
	bool is_picture = options->folded[0] || options->slow_rules.count > 0 ||
			  (options->export[0] && !exporters_need_answers(options));
	if (opened_select(recording, options, is_picture, error) != 0 ||
	    opened_name(&labels, recording, options, error) != 0) {
		complain("%s", error);
		return EXIT_TROUBLE;
	}
	int status = options->explain            ? print_explained(recording, options, &labels)
		     : options->folded[0]        ? print_folded(recording, options, &labels)
		     : options->slow_rules.count ? print_slow_rules(recording, options, &labels)
						 : print_reports(recording, options, &labels);
	labels_free(&labels);
	return status;
}

static bool is_about_one(const struct options *options)
{
	return options->explain || options->folded[0] || options->slow_rules.count ||
	       options->html[0] || options->export[0] || options->requests[0] || options->show[0];
}

static int print_means(const struct window_list *list, const struct options *options,
		       struct recording *recording)
{
	char error[EACH_WINDOW_ERROR_BYTES];
	struct window_means means;
	struct emit emit;
	if (is_about_one(options)) {
		complain("there are %zu windows; choose one: --window N", list->count);
		return EXIT_TROUBLE;
	}
	if (window_means_build(&means, options, list, recording, error) != 0) {
		complain("%s", error);
		return EXIT_TROUBLE;
	}
	begin_output(&emit, options);
	window_means_print(&means, &emit);
	emit_end(&emit);
	int status = means.given_count == 0 ? EXIT_WITHHELD : 0;
	window_means_free(&means);
	return status;
}

/* Of the dumps in the list, which are read but for windows in dumps of their own. */
static int analyze_windows(const struct window_list *list, const struct options *options,
			   struct recording *recording)
{
	if (options->window > list->count) {
		complain("--window %zu: there %s %zu", options->window,
			 list->count == 1 ? "is only" : "are only", list->count);
		return EXIT_TROUBLE;
	}
	if (list->count > 1 && options->window == 0)
		return print_means(list, options, recording);
	const struct options chosen =
		window_list_choose(list, options, options->window ? options->window - 1 : 0);
	int status = recording->dump_count > 0 ? 0 : read_dumps(recording, &chosen);
	return status == 0 ? analyze(recording, &chosen) : status;
}

static int analyze_dumps(struct recording *recording, const struct options *options)
{
	struct read_error error = { 0 };
	struct window_list list;
	int status = 0;
	if (window_list_of_dumps(&list, options, &error) != 0) {
		complain_of_dump(&error);
		status = EXIT_TROUBLE;
	} else if (list.count == 1 && (status = read_dumps(recording, options)) == 0) {
		window_list_free(&list);
		window_list_of_recording(&list, options, recording);
	}
	if (status == 0)
		status = analyze_windows(&list, options, recording);
	window_list_free(&list);
	return status;
}

static int write_rows(const struct options *options)
{
	char error[EACH_WINDOW_ERROR_BYTES];
	int failed = rows_write(options, error);
	if (has_progress(options))
		fputs("\r\033[K", stderr);
	if (failed || !options->quiet)
		complain("%s%s", failed ? error : options->rows,
			 failed ? "" : " written: see wcprof-rows(5)");
	return failed ? EXIT_TROUBLE : 0;
}

static int ask_each(const struct options *options)
{
	char error[EACH_WINDOW_ERROR_BYTES];
	struct each_counts counts;
	int failed = each_ask(options, &counts, error);
	if (has_progress(options))
		fputs("\r\033[K", stderr);
	if (failed)
		complain("%s", error);
	else if (!options->quiet)
		complain("%zu dumps asked, %zu of them without an answer; %zu had a row already",
			 counts.asked, counts.failed, counts.skipped);
	return failed ? EXIT_TROUBLE : counts.failed ? EXIT_UNANSWERED : 0;
}

static int print_diff(const struct options *options)
{
	static const int statuses[] = { [DIFF_NOT_WORSE] = 0,
					[DIFF_WORSE] = EXIT_WORSE,
					[DIFF_UNSURE] = EXIT_WITHHELD,
					[DIFF_UNTOLD] = EXIT_WITHHELD };
	char error[SIDES_ERROR_BYTES];
	struct diff diff;
	struct emit emit;
	if (diff_build(&diff, options, error) != 0) {
		complain("%s", error);
		return EXIT_TROUBLE;
	}
	begin_output(&emit, options);
	diff_print(&diff, &emit);
	emit_end(&emit);
	int status = statuses[diff.outcome];
	diff_free(&diff);
	return status;
}

static int print_costs(const struct options *options)
{
	char error[SIDES_ERROR_BYTES];
	if (cost_lines_write(stdout, options, error) == 0)
		return 0;
	complain("%s", error);
	return EXIT_TROUBLE;
}

/* False: the bound that was asked for cannot be. One by the free memory need not be. */
static bool bound_memory(const struct options *options)
{
	uint64_t wanted = allowance_of_megabytes(options->max_memory_mb);
	if (allowance_set(wanted ? wanted : allowance_of_now()) || !wanted)
		return true;
	complain("--max-memory %zu: the command has taken more than that to begin with",
		 options->max_memory_mb);
	return false;
}

int main(int argc, char **argv)
{
	struct options options;
	char error[EACH_WINDOW_ERROR_BYTES];
	setlocale(LC_CTYPE, "");
	if (options_parse(&options, argc, argv, error) != 0 ||
	    reports_choose(&options, error) != 0 || rows_check(&options, error) != 0 ||
	    (options.export[0] && exporters_check(&options, error) != 0)) {
		complain("%s", error);
		return EXIT_TROUBLE;
	}
	struct recording recording = { 0 };
	int status = 0;
	if (has_progress(&options))
		options.progress = progress_of_analysis;
	if (!bound_memory(&options))
		return EXIT_TROUBLE;
	if (options.help)
		options_print_help(stdout);
	else if (options.version)
		fputs(version_text, stdout);
	else if ((status = set_aside(&options.withouts)) == 0 && (options.diff || options.costs))
		status = options.diff ? print_diff(&options) : print_costs(&options);
	else if (status == 0 && (options.rows[0] || options.each))
		status = options.each ? ask_each(&options) : write_rows(&options);
	else if (status == 0 && !options.symbolize[0])
		status = analyze_dumps(&recording, &options);
	else if (status == 0 && (status = read_dumps(&recording, &options)) == 0)
		status = write_symbolized(&recording, &options);
	recording_free(&recording);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("standard output: %s; is the disk full?", strerror(errno));
		return EXIT_TROUBLE;
	}
	return status;
}
