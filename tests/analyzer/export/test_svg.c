/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a picture cannot be drawn, or shows answers that are withheld. */
#include <string.h>
#include <unistd.h>

#include "export/exporters.h"
#include "sketch.h"
#include "suite.h"

static const char *const files[] = { "curves.svg", "locks.svg", "requests.svg" };

/* Two threads at a lock with a hostile name, exported; `texts` gets the files. */
static void draw(bool is_withheld, char *texts[3])
{
	struct sketch sketch;
	char folder[] = "/tmp/test_svg.XXXXXX", error[EXPORT_ERROR_BYTES];
	char said[EXPORT_SAID_BYTES], path[64];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	const struct options options = { .factors = { { 0 }, 1 },
					 .class_regex = "",
					 .client = "",
					 .thread_glob = "",
					 .model = "threads",
					 .export = "svg",
					 .output = folder };
	struct analysis analysis;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	uint32_t hold = sketch_hold(&sketch, 0, "</svg><b>&", 1, 0, 6);
	uint32_t wait = sketch_wait(&sketch, 1, REASON_MUTEX, "</svg><b>&", 1, 6, hold);
	sketch.rec.waits[wait].ident = sketch_string(&sketch, "</svg><b>&");
	sketch_hold(&sketch, 1, "</svg><b>&", 1, 6, 8);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	ck_assert_uint_gt(analysis.curves.count, 0);
	analysis.checks.is_withheld = is_withheld;
	ck_assert_int_eq(exporters_write(&analysis, said, error), 0);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		FILE *file = fopen(path, "r");
		ck_assert_ptr_nonnull(file);
		texts[i] = calloc(1, 1 << 20);
		ck_assert_uint_gt(fread(texts[i], 1, (1 << 20) - 1, file), 0);
		fclose(file);
		unlink(path);
	}
	rmdir(folder);
	analysis_free(&analysis);
	sketch_free(&sketch);
}

START_TEST(names_are_text)
{
	char *texts[3];
	draw(false, texts);
	ck_assert_ptr_nonnull(strstr(texts[0], ">hold, halved: "));
	for (size_t i = 0; i < 3; i++) {
		const char *end = strstr(texts[i], "</svg>");
		ck_assert_ptr_nonnull(end);
		ck_assert_str_eq(end, "</svg>\n");
		ck_assert_ptr_null(strstr(texts[i], "<b>"));
		free(texts[i]);
	}
}
END_TEST

START_TEST(withheld_answers_are_not_drawn)
{
	char *texts[3];
	for (int withheld = 0; withheld < 2; withheld++) {
		draw(withheld, texts);
		ck_assert((strstr(texts[0], "polyline") == NULL) == withheld);
		ck_assert((strstr(texts[0], "Withheld") != NULL) == withheld);
		ck_assert_ptr_nonnull(strstr(texts[1], "fill=\"#d55e00\""));
		for (size_t i = 0; i < 3; i++)
			free(texts[i]);
	}
}
END_TEST

SUITE()
{
	TEST(names_are_text);
	TEST(withheld_answers_are_not_drawn);
}
