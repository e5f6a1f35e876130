/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the exporter and calls it; exporters.h has the contract. */
#include "exporters.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum shape { SHAPE_FILE, SHAPE_FOLDER };

static const struct exporter {
	const char *word;
	enum shape shape;
	void (*write)(struct export *);
	const char *hint;
	bool needs_answers;
} exporters[] = {
#define ROW(name, word, shape, hint, needs_answers) \
	{ word, SHAPE_##shape, export_##name, hint, needs_answers },
#define EXPORTER(name, word, shape, hint)        ROW(name, word, shape, hint, false)
#define ANSWER_EXPORTER(name, word, shape, hint) ROW(name, word, shape, hint, true)
#include "exporters.def"
};

enum { EXPORTERS = sizeof(exporters) / sizeof(exporters[0]) };

static const struct exporter *exporter_of(const char *word)
{
	for (size_t i = 0; i < EXPORTERS; i++)
		if (strcmp(exporters[i].word, word) == 0)
			return &exporters[i];
	return NULL;
}

bool exporters_need_answers(const struct options *options)
{
	return exporter_of(options->export)->needs_answers;
}

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* --- Before --- */

static void list_words(char *text, size_t bytes)
{
	size_t length = 0;
	for (size_t i = 0; i < EXPORTERS && length < bytes; i++)
		length += (size_t)snprintf(text + length, bytes - length, "%s%s", i ? ", " : "",
					   exporters[i].word);
}

static bool is_a_dump(const struct options *options, const struct stat *output)
{
	struct stat input;
	for (size_t i = 0; i < options->path_count; i++)
		if (stat(options->paths[i], &input) == 0 && input.st_dev == output->st_dev &&
		    input.st_ino == output->st_ino)
			return true;
	return false;
}

/* Of what is there already: why it cannot be written to; NULL = it can. */
static const char *why_not(const struct exporter *exporter, const struct options *options)
{
	struct stat output;
	if (exporter->shape == SHAPE_FOLDER && is_stdout(options->output))
		return "this format is several files; give a folder";
	if (is_stdout(options->output) || stat(options->output, &output) != 0)
		return NULL;
	if (exporter->shape == SHAPE_FILE && S_ISDIR(output.st_mode))
		return "is a folder, and this format is one file; give another name";
	if (exporter->shape == SHAPE_FOLDER && !S_ISDIR(output.st_mode))
		return "is a file, and this format is a folder of files; give another name";
	return is_a_dump(options, &output) ? "is one of the dumps; give another name" : NULL;
}

int exporters_check(const struct options *options, char error[EXPORT_ERROR_BYTES])
{
	const struct exporter *exporter = exporter_of(options->export);
	char words[128];
	if (!exporter) {
		list_words(words, sizeof(words));
		snprintf(error, EXPORT_ERROR_BYTES,
			 "--export: \"%.60s\" is none of %s; give one of them", options->export,
			 words);
		return -EINVAL;
	}
	if (!options->output[0]) {
		snprintf(error, EXPORT_ERROR_BYTES,
			 "--export %s needs a %s to write to; give -o PATH", exporter->word,
			 exporter->shape == SHAPE_FILE ? "file" : "folder");
		return -EINVAL;
	}
	const char *why = why_not(exporter, options);
	if (!why)
		return 0;
	snprintf(error, EXPORT_ERROR_BYTES, "-o %.300s: %s", options->output, why);
	return -EINVAL;
}

/* --- The export --- */

static void open_output(struct export *export, enum shape shape)
{
	if (shape == SHAPE_FOLDER) {
		if (mkdir(export->path, 0777) != 0 && errno != EEXIST)
			export_fail_to_open(export);
	} else if (is_stdout(export->path)) {
		export->file = stdout;
	} else {
		export_open(export, export->path);
	}
}

int exporters_write(const struct analysis *analysis, char said[EXPORT_SAID_BYTES],
		    char error[EXPORT_ERROR_BYTES])
{
	const struct exporter *exporter = exporter_of(analysis->options->export);
	struct export export = {
		.analysis = analysis,
		.path = analysis->options->output,
		.error = error,
	};
	error[0] = '\0';
	open_output(&export, exporter->shape);
	if (!error[0])
		exporter->write(&export);
	export_close(&export);
	snprintf(said, EXPORT_SAID_BYTES, "%.200s written%s: %s%s%s",
		 is_stdout(export.path) ? exporter->word : export.path,
		 analysis->recording->thread_count
			 ? ""
			 : ", without threads' time, as the dumps have no threads",
		 exporter->hint, export.note[0] ? "; " : "", export.note);
	return error[0] ? -EIO : 0;
}
