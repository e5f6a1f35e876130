/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a short run would write a line that is gone at once, or a long one none. */
#include "base/progress.h"

#include "suite.h"

#include <stdio.h>
#include <unistd.h>

static const struct {
	uint64_t begun_before_ms;
	uint64_t total;
	const char *shown;
} rows[] = {
	/* 0 */ { 0, 4000000, "" },
	/* 1 */ { 60000, 4000000, "\rreading:  50% of 4 MB, 0 MB/s\033[K" },
	/* 2 */ { 60000, 0, "\rreading: 2 MB, 0 MB/s\033[K" },
};

START_TEST(a_line_comes_after_a_while)
{
	struct progress progress = progress_begin();
	char text[100] = "";
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	int before = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	progress.begun_ms -= rows[_i].begun_before_ms;
	progress_of_reading(&progress, 2000000, rows[_i].total);
	/* It was just shown. */
	progress_of_reading(&progress, 3000000, rows[_i].total);
	progress_of_analysis("anything", 1, 2);
	dup2(before, STDERR_FILENO);
	close(ends[1]);
	ck_assert_int_ge(read(ends[0], text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, rows[_i].shown);
}
END_TEST

SUITE()
{
	EACH(a_line_comes_after_a_while, rows);
}
