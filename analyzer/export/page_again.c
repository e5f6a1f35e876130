/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: how to come by the same figures again.
 */
#include "format.h"
#include "page.h"

static void put_words(struct emit *emit, const char *key, char *const *words, size_t count)
{
	static const struct emit_column columns[] = { { .key = "word" } };
	emit_table_begin(emit, key, EMIT_VALUES, columns, 1);
	for (size_t i = 0; i < count; i++) {
		emit_row_begin(emit);
		emit_cell_text(emit, words[i]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

void page_again(const struct analysis *analysis, struct emit *emit)
{
	const struct options *options = analysis->options;
	emit_text(emit, "version", NULL, WCPROF_VERSION);
	put_words(emit, "command", options->words, options->word_count);
	put_words(emit, "dumps", options->paths, options->path_count);
}
