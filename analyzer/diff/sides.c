/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists files and analyzes recordings; sides.h has the contract.
 */
#include "sides.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "report/opened.h"

static int refuse(const char *path, const char *why, int failed, char error[SIDES_ERROR_BYTES])
{
	snprintf(error, SIDES_ERROR_BYTES, "--diff: %.600s: %s", path, why);
	return failed;
}

static bool is_directory(const char *path)
{
	struct stat stat_of;
	return stat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode);
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static char *path_join(const char *folder, const char *name)
{
	size_t bytes = strlen(folder) + strlen(name) + 2;
	char *path = memory_new(bytes, 1);
	snprintf(path, bytes, "%s/%s", folder, name);
	return path;
}

/* The paths in a directory, by name: to be freed, each and all. How many, or -errno. */
static int list(const char *folder, char ***paths)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_shown, alphasort);
	if (count < 0)
		return -errno;
	*paths = memory_new((size_t)count, sizeof(**paths));
	for (int i = 0; i < count; i++) {
		(*paths)[i] = path_join(folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return count;
}

static void recording_paths_free(struct side_recording *of)
{
	for (size_t i = 0; i < of->count; i++)
		free(of->paths[i]);
	free(of->paths);
}

static char *copy(const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(memory_new(bytes, 1), text, bytes);
}

static struct side_recording recording_of_file(char *path)
{
	struct side_recording of = { memory_new(1, sizeof(*of.paths)), 1 };
	of.paths[0] = path;
	return of;
}

/* Takes the path over. */
static int add(struct side *side, char *path, char error[SIDES_ERROR_BYTES])
{
	struct side_recording of = { 0 };
	int count = 1, failed = 0;
	if (!is_directory(path)) {
		side->recordings[side->count++] = recording_of_file(path);
		return 0;
	}
	count = list(path, &of.paths);
	if (count <= 0)
		failed = count < 0 ? refuse(path, strerror(-count), count, error)
				   : refuse(path, "has no dump; take it away", -ENOENT, error);
	of.count = count > 0 ? (size_t)count : 0;
	if (failed)
		free(of.paths);
	else
		side->recordings[side->count++] = of;
	free(path);
	return failed;
}

int side_list(struct side *side, const char *path, char error[SIDES_ERROR_BYTES])
{
	char **paths = NULL;
	int failed = 0;
	*side = (struct side){ 0 };
	if (!is_directory(path)) {
		side->recordings = memory_new(1, sizeof(*side->recordings));
		side->recordings[side->count++] = recording_of_file(copy(path));
		return 0;
	}
	int count = list(path, &paths);
	if (count < 0)
		return refuse(path, strerror(-count), count, error);
	if (count == 0) {
		free(paths);
		return refuse(path, "has no recording; give one or several", -ENOENT, error);
	}
	side->recordings = memory_new((size_t)count, sizeof(*side->recordings));
	for (int i = 0; i < count; i++) {
		if (failed)
			free(paths[i]);
		else
			failed = add(side, paths[i], error);
	}
	free(paths);
	if (failed)
		side_free(side);
	return failed;
}

void side_free(struct side *side)
{
	for (size_t i = 0; i < side->count; i++)
		recording_paths_free(&side->recordings[i]);
	free(side->recordings);
	*side = (struct side){ 0 };
}

static int read_all(struct recording *recording, const struct side_recording *from,
		    char error[SIDES_ERROR_BYTES])
{
	struct read_error failure = { 0 };
	int failed = recording_read(recording, from->paths, from->count, &failure, NULL);
	if (failed && failure.line)
		snprintf(error, SIDES_ERROR_BYTES, "%.400s:%llu: %s", failure.file,
			 (unsigned long long)failure.line, failure.text);
	else if (failed)
		snprintf(error, SIDES_ERROR_BYTES, "%.400s: %s", failure.file ? failure.file : "",
			 failure.text);
	return failed;
}

int side_analyze(struct side_analysis *of, const struct side_recording *from,
		 const struct options *options, bool has_answers, char error[SIDES_ERROR_BYTES])
{
	*of = (struct side_analysis){ 0 };
	int failed = read_all(&of->recording, from, error);
	if (!failed)
		failed = opened_select(&of->recording, options, false, error);
	if (failed)
		goto free_recording;
	failed = opened_name(&of->labels, &of->recording, options, error);
	if (failed)
		goto free_recording;
	failed = has_answers ? analysis_build(&of->analysis, &of->recording, options, &of->labels,
					      error)
			     : analysis_measure(&of->analysis, &of->recording, options, &of->labels,
						error);
	if (!failed)
		return 0;
	labels_free(&of->labels);
free_recording:
	recording_free(&of->recording);
	*of = (struct side_analysis){ 0 };
	return failed;
}

void side_analysis_free(struct side_analysis *of)
{
	analysis_free(&of->analysis);
	labels_free(&of->labels);
	recording_free(&of->recording);
}
