/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles that are exported of a recording made by hand. Included by one test program each.
 */
#ifndef WCPROF_TESTS_PPROF_EXPORTED_H
#define WCPROF_TESTS_PPROF_EXPORTED_H

#include <unistd.h>

#include "export/exporters.h"
#include "profile_lines.h"
#include "sketch.h"

/* Writes the six files into `folder`, as the command does. `names` may be NULL. */
static inline void pprof_export(const struct recording *recording, const struct frame_names *names,
				uint64_t to_ns, const char *folder)
{
	struct options options = { .to_ns = to_ns };
	struct labels labels = { 0 };
	char error[EXPORT_ERROR_BYTES] = "";
	struct analysis analysis = { .recording = recording, .options = &options };
	struct export export = { .analysis = &analysis, .path = folder, .error = error };
	uint32_t *targets = memory_new(recording->wait_count, sizeof(*targets));

	for (size_t i = 0; i < recording->wait_count; i++)
		targets[i] = recording->waits[i].target;
	analysis.graph.wait_target = targets;
	if (names)
		labels.frames = *names;
	analysis.labels = names ? &labels : NULL;
	class_table_build(&analysis.classes, recording, NULL);
	thread_table_build(&analysis.threads, recording);
	export_pprof(&export);
	ck_assert_str_eq(error, "");
	ck_assert_int_eq(fclose(export.file), 0);
	thread_table_free(&analysis.threads);
	class_table_free(&analysis.classes);
	free(targets);
}

/* One of the files that the export of a recording writes. */
static inline void pprof_read(struct profile_read *read, const struct recording *recording,
			      const struct frame_names *names, uint64_t to_ns, const char *name)
{
	static const char *const files[] = { "cpu", "wall", "block", "mutex", "threads", "wait" };
	static char bytes[1 << 16];
	char folder[] = "/tmp/test_pprof.XXXXXX", path[100];
	size_t length = 0, found = 0;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	pprof_export(recording, names, to_ns, folder);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s.pprof", folder, files[i]);
		FILE *file = fopen(path, "r");
		ck_assert_ptr_nonnull(file);
		if (strcmp(files[i], name) == 0 && ++found)
			length = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		ck_assert_int_eq(unlink(path), 0);
	}
	ck_assert_int_eq(rmdir(folder), 0); /* nothing else was in it */
	ck_assert_uint_eq(found, 1);
	profile_read(read, bytes, length);
}

#endif
