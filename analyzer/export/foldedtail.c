/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the parts of tail and body; foldedtail.h has the contract. */
#include "foldedtail.h"

#include "folded.h"
#include "report/analysis.h"
#include "report/tailed.h"

static void put_line(FILE *file, const char *const *strings, struct path_part part,
		     const struct tail_part *row)
{
	folded_put_text(file, path_kind_word(part.kind));
	const uint32_t names[] = { part.name, part.by };
	for (size_t i = 0; i < 2; i++) {
		if (!names[i])
			continue;
		fputc(';', file);
		folded_put_text(file, strings[names[i]]);
	}
	fprintf(file, " %.0f %.0f\n", row->body_ns, row->tail_ns);
}

bool folded_tail_write(FILE *file, const struct analysis *analysis)
{
	struct tailed tailed;
	bool is_known = tailed_build(&tailed, analysis, tailed_asked(analysis->options)) &&
			tailed.tail.state == TAIL_KNOWN;
	for (size_t i = 0; is_known && i < tailed.tail.part_count; i++) {
		const struct tail_part *row = &tailed.tail.parts[i];
		put_line(file, analysis->recording->strings,
			 path_parts_at(&analysis->paths.parts, row->key), row);
	}
	tailed_free(&tailed);
	return is_known;
}
