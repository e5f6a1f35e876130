/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the files of --rows, and has each window written to them; rows.h has the contract. */
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/outfile.h"
#include "rows_parts.h"
#include "zstdfile.h"

enum { TAG_KEY_MOST = 60 };

static const char *const names[ROWS_TABLES] = {
#define ROWS_TABLE(name, table, meaning) [ROWS_##name] = table ".ndjson.zst",
#include "rows.def"
};

int rows_check(const struct options *options, char error[EACH_WINDOW_ERROR_BYTES])
{
	if (options->tags.count > 0 && !options->rows[0] && !options->each &&
	    strcmp(options->export, "otlp") != 0) {
		snprintf(error, EACH_WINDOW_ERROR_BYTES,
			 "--tag is of rows; give --rows DIR or --export otlp, too");
		return -EINVAL;
	}
	for (size_t i = 0; i < options->tags.count; i++) {
		size_t length = strcspn(options->tags.texts[i], "=");
		if (length > 0 && length <= TAG_KEY_MOST && options->tags.texts[i][length] == '=')
			continue;
		snprintf(error, EACH_WINDOW_ERROR_BYTES,
			 "--tag: \"%.60s\" is no KEY=VALUE; give one as service=checkout",
			 options->tags.texts[i]);
		return -EINVAL;
	}
	return 0;
}

static void visit(void *context, const struct analysis *analysis)
{
	struct rows *rows = context;
	rows->analysis = analysis;
	row_id_text(rows_window_id(analysis), rows->window);
	rows_stacks_build(&rows->stacks, analysis);
	rows_of_window(rows);
	rows_of_answers(rows);
	rows_of_waits(rows);
	rows_of_holds(rows);
	rows_of_threads(rows);
	rows_of_requests(rows);
	rows_of_stacks(rows);
	rows_stacks_free(&rows->stacks);
}

static int fail(const struct rows *rows, const char *name, const char *why,
		char error[EACH_WINDOW_ERROR_BYTES])
{
	snprintf(error, EACH_WINDOW_ERROR_BYTES, "--rows: %.300s%s%s: %s", rows->options->rows,
		 *name ? "/" : "", name, why);
	return -EIO;
}

static int open_files(struct rows *rows, char error[EACH_WINDOW_ERROR_BYTES])
{
	const char *folder = rows->options->rows;
	if (mkdir(folder, 0777) != 0 && errno != EEXIST)
		return fail(rows, "", strerror(errno), error);
	for (size_t i = 0; i < ROWS_TABLES; i++) {
		char *path;
		FILE *file = NULL;
		if (asprintf(&path, "%s/%s", folder, names[i]) >= 0) {
			file = outfile_create(path);
			free(path);
		}
		if (!file)
			return fail(rows, names[i],
				    errno == EPERM ? "others may have put it there; give "
						     "another folder"
						   : strerror(errno),
				    error);
		rows->files[i] = zstd_file_open(file);
	}
	return 0;
}

/* The first error counts. */
static int close_files(struct rows *rows, int failed, char error[EACH_WINDOW_ERROR_BYTES])
{
	for (size_t i = 0; i < ROWS_TABLES; i++) {
		if (!rows->files[i])
			continue;
		bool is_written = !ferror(rows->files[i]);
		is_written = fclose(rows->files[i]) == 0 && is_written;
		if (!is_written && !failed)
			failed =
				fail(rows, names[i], "cannot be written; is the disk full?", error);
	}
	return failed;
}

int rows_write(const struct options *options, char error[EACH_WINDOW_ERROR_BYTES])
{
	struct rows rows = { .options = options };
	int failed = open_files(&rows, error);
	tuples_begin(&rows.stacks_written, 4);
	if (!failed)
		failed = each_window_of_dumps(options, visit, &rows, error);
	tuples_free(&rows.stacks_written);
	return close_files(&rows, failed, error);
}
