/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wcprof-analyze command: reads dumps, analyzes them, prints the reports.
 *
 * The only place that prints errors and decides the exit status:
 *
 *   0   done
 *   1   --symbolize refused files; --diff found NEW worse
 *   2   wrong usage, a dump that cannot be read, or output that cannot be written
 *   3   answers are withheld (report/verdict.c); --diff cannot tell
 */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/allowance.h"
#include "base/assumptions.h"
#include "base/emit.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/outfile.h"
#include "base/utf8.h"
#include "diff/diff.h"
#include "export/exporters.h"
#include "export/folded.h"
#include "export/foldedtail.h"
#include "export/page.h"
#include "export/requestlines.h"
#include "export/slowing.h"
#include "format.h"
#include "names/symbolize.h"
#include "names/symbols.h"
#include "read/read.h"
#include "report/analysis.h"
#include "report/explain.h"
#include "report/opened.h"
#include "report/reports.h"

enum {
	EXIT_REFUSED = 1,
	EXIT_WORSE = 1,
	EXIT_TROUBLE = 2,
	EXIT_WITHHELD = 3,
	LINE_COLUMNS = 100,
	PROGRESS_PERIOD_MS = 100,
	PROGRESS_FIRST_MS = 500
};

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

/* The progress line on standard error, if that is a terminal. */
struct progress {
	uint64_t begun_ms;
	uint64_t shown_ms; /* 0 = not yet */
};

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void progress_report(void *context, uint64_t bytes_done, uint64_t bytes_total)
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

/* How far an analysis has got: one line, once it has taken a while. */
static void analysis_progress(const char *what, size_t done, size_t total)
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

static bool has_progress(const struct options *options)
{
	return !options->quiet && isatty(STDERR_FILENO);
}

static int read_dumps(struct recording *recording, const struct options *options)
{
	struct read_error error = { 0 };
	struct progress state = { .begun_ms = now_ms() };
	const struct read_progress progress = { progress_report, &state };
	int result = recording_read(recording, options->paths, options->path_count, &error,
				    has_progress(options) ? &progress : NULL);
	if (state.shown_ms)
		fputs("\r\033[K", stderr);
	if (result == 0)
		return 0;
	if (error.line)
		complain("%s:%llu: %s", error.file, (unsigned long long)error.line, error.text);
	else
		complain("%s: %s", error.file ? error.file : "", error.text);
	return EXIT_TROUBLE;
}

static bool environment_has(const char *name)
{
	const char *value = getenv(name);
	return value && *value;
}

static bool wants_color(const struct options *options)
{
	if (strcmp(options->color, "auto") != 0)
		return strcmp(options->color, "always") == 0;
	const char *terminal = getenv("TERM");
	if (environment_has("NO_COLOR"))
		return false;
	if (environment_has("CLICOLOR_FORCE") && strcmp(getenv("CLICOLOR_FORCE"), "0") != 0)
		return true;
	return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

/* Where lines end; 0 = nowhere. */
static size_t output_columns(const struct options *options)
{
	const char *columns = getenv("COLUMNS");
	size_t wanted = columns ? strtoul(columns, NULL, 10) : 0;
	struct winsize size;
	if (options->wide)
		return 0;
	if (wanted > 0)
		return wanted;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return LINE_COLUMNS;
}

static int print_folded_tail(const struct recording *recording, const struct options *options,
			     const struct labels *labels)
{
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	if (analysis_measure(&analysis, recording, options, labels, error) != 0) {
		complain("%s", error);
		return EXIT_TROUBLE;
	}
	bool has_tail = folded_tail_write(stdout, &analysis);
	if (!has_tail)
		complain("--folded tail: there are too few requests that were finished");
	analysis_free(&analysis);
	return has_tail ? 0 : EXIT_TROUBLE;
}

static int print_folded(const struct recording *recording, const struct options *options,
			const struct labels *labels)
{
	enum folded_of of;
	if (strcmp(options->folded, "tail") == 0)
		return print_folded_tail(recording, options, labels);
	if (!folded_parse(options->folded, &of)) {
		complain("--folded: \"%.60s\" is none of wait, cpu, wall, lock, tail; "
			 "give one of them",
			 options->folded);
		return EXIT_TROUBLE;
	}
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

static int print_reports(const struct recording *recording, const struct options *options,
			 const struct labels *labels)
{
	struct analysis analysis;
	struct emit emit;
	if (build(&analysis, recording, options, labels) != 0)
		return EXIT_TROUBLE;
	bool is_export_alone = has_no_report(options);
	int status = options->html[0] ? write_page(&analysis, options->html, options->quiet) : 0;
	if (status == 0 && options->export[0])
		status = write_export(&analysis, options);
	if (status == 0 && options->requests[0])
		status = write_requests(&analysis, options->requests);
	if (!is_export_alone && (!options->html[0] || options->json)) {
		emit_begin(&emit, stdout, options->json ? EMIT_JSON : EMIT_TEXT,
			   output_columns(options), wants_color(options));
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

/* Names the files whose build is another. */
static void print_refused(const struct symbols *symbols)
{
	for (uint32_t i = 0; i < symbols_file_count(symbols); i++) {
		const struct symbol_file_info file = symbols_file(symbols, i);
		if (file.state == SYMBOL_FILE_OTHER_BUILD)
			complain("%s: refused: its build id is %s, the recorded one "
				 "is %s; none of its names are written; put the recorded file "
				 "or its debug file in place",
				 file.path, file.found_build_id[0] ? file.found_build_id : "none",
				 file.build_id);
	}
}

static FILE *open_symbolized(const struct options *options)
{
	struct stat input, output;
	if (strcmp(options->symbolize, "-") == 0)
		return stdout;
	for (size_t i = 0; i < options->path_count; i++) {
		if (strcmp(options->paths[i], "-") == 0) {
			complain("--symbolize reads dumps twice, and "
				 "standard input comes once; give a file");
			return NULL;
		}
		if (stat(options->paths[i], &input) == 0 &&
		    stat(options->symbolize, &output) == 0 && input.st_dev == output.st_dev &&
		    input.st_ino == output.st_ino) {
			complain("--symbolize: %s is one of the dumps; give "
				 "another name",
				 options->symbolize);
			return NULL;
		}
	}
	return create_file("symbolize", options->symbolize);
}

static int write_symbolized(struct recording *recording, const struct options *options)
{
	struct symbolize_counts counts = { 0 };
	struct read_error error = { 0 };
	FILE *file = open_symbolized(options);
	if (!file)
		return EXIT_TROUBLE;
	struct symbols *symbols = symbols_new(recording, options->paths, options->path_count);
	symbolize_look_up(recording, symbols);
	int status = symbolize_write(file, recording, symbols, options->paths, options->path_count,
				     &error, &counts);
	bool is_written = !ferror(file);
	is_written = (file == stdout || fclose(file) == 0) && is_written;
	if (status != 0)
		complain("%s: %s", error.file, error.text);
	else if (!is_written)
		complain("--symbolize: %s: cannot be written: is the disk "
			 "full?",
			 options->symbolize);
	print_refused(symbols);
	if (status == 0 && is_written && !options->quiet)
		complain("names of %zu addresses in %zu files written; %zu files "
			 "are not on this machine",
			 counts.addresses, counts.files, counts.missing_files);
	symbols_free(symbols);
	if (status != 0 || !is_written)
		return EXIT_TROUBLE;
	return counts.other_builds ? EXIT_REFUSED : 0;
}

/* Assumptions that --without names do not hold from here on. */
static int set_aside(const struct text_list *names)
{
	char all[1024];
	for (size_t i = 0; i < names->count; i++) {
		if (assumptions_set_aside(names->texts[i]))
			continue;
		assumptions_list(all, sizeof(all), false);
		complain("--without: there is no assumption \"%.60s\"; give one of "
			 "%s",
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
	if (has_progress(options))
		fputs("\r\033[K", stderr);
	emit_begin(&emit, stdout, options->json ? EMIT_JSON : EMIT_TEXT, output_columns(options),
		   wants_color(options));
	diff_print(&diff, &emit);
	emit_end(&emit);
	int status = statuses[diff.outcome];
	diff_free(&diff);
	return status;
}

/* False: the bound that was asked for cannot be. One by the free memory need not be. */
static bool bound_memory(const struct options *options)
{
	uint64_t wanted = allowance_of_megabytes(options->max_memory_mb);
	if (wanted == 0) {
		(void)allowance_set(allowance_of_now());
		return true;
	}
	if (allowance_set(wanted))
		return true;
	complain("--max-memory %zu: the command has taken more than that to begin with",
		 options->max_memory_mb);
	return false;
}

int main(int argc, char **argv)
{
	struct options options;
	char error[EXPORT_ERROR_BYTES];
	setlocale(LC_CTYPE, "");
	if (options_parse(&options, argc, argv, error) != 0 ||
	    reports_choose(&options, error) != 0 ||
	    (options.export[0] && exporters_check(&options, error) != 0)) {
		complain("%s", error);
		return EXIT_TROUBLE;
	}
	struct recording recording = { 0 };
	int status = 0;
	if (has_progress(&options))
		options.progress = analysis_progress;
	if (!bound_memory(&options))
		return EXIT_TROUBLE;
	if (options.help)
		options_print_help(stdout);
	else if (options.version)
		fputs(version_text, stdout);
	else if ((status = set_aside(&options.withouts)) == 0 && options.diff)
		status = print_diff(&options);
	else if (status == 0 && (status = read_dumps(&recording, &options)) == 0 &&
		 options.symbolize[0])
		status = write_symbolized(&recording, &options);
	else if (status == 0)
		status = analyze(&recording, &options);
	recording_free(&recording);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("standard output: %s; is the disk full?", strerror(errno));
		return EXIT_TROUBLE;
	}
	return status;
}
