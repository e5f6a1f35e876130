/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the parts of tail and body; foldedtail.h has the contract. */
#include "foldedtail.h"

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

/* The requests, or the calls of the class that is asked for. */
static void spans_build(struct slow_spans *spans, const struct walk *walk, const char *class,
			double percent)
{
	if (class)
		slow_spans_of_class(spans, walk->recording, walk->classes, class, percent);
	else if (walk->requests)
		slow_spans_of_requests(spans, walk->requests, percent);
	else
		*spans = (struct slow_spans){ 0 };
}

bool folded_tail_write_stacks(FILE *file, enum folded_of of, const struct analysis *analysis,
			      char said[FOLDED_TAIL_BYTES])
{
	const char *class = tailed_class(analysis->options->tail);
	double percent = tailed_asked(analysis->options);
	struct slow_spans spans;
	struct walk walk;
	walk_begin(&walk, analysis);
	spans_build(&spans, &walk, class, percent);
	bool has_tail = spans.count >= TAIL_REQUESTS_LEAST && spans.slow_count < spans.count;
	if (has_tail)
		folded_print_tail(file, of, &walk, &spans);
	if (has_tail)
		snprintf(said, FOLDED_TAIL_BYTES,
			 "counts are nanoseconds per %s: of %zu shorter ones, of %zu of %.3f ms or "
			 "more",
			 class ? "call" : "request", spans.count - spans.slow_count,
			 spans.slow_count, (double)spans.slow_from_ns / 1e6);
	else
		snprintf(said, FOLDED_TAIL_BYTES,
			 "--tail: %zu %s, %zu of them slow: a tail takes %d, and shorter ones",
			 spans.count, class ? "calls of such a class" : "requests",
			 spans.slow_count, TAIL_REQUESTS_LEAST);
	slow_spans_free(&spans);
	walk_end(&walk);
	return has_tail;
}
