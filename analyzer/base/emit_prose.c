/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences in text, wrapped between words. A word that is longer than a line is cut in its middle.
 */
#include "emit.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "utf8.h"

enum { LABEL_COLUMNS = 20, INDENT = 2, LINE_MIN = 20 };

/* The first line has `at` columns already; the next ones begin at `indent`. */
static void print_wrapped(const struct emit *emit, const char *words, size_t at, size_t indent)
{
	size_t width = emit->width_columns;
	if (width < INDENT + LINE_MIN)
		width = INDENT + LINE_MIN;
	if (width < indent + LINE_MIN)
		indent = INDENT;
	for (bool has_word = false; *words; has_word = true) {
		size_t spaces = strspn(words, " "), length = strcspn(words + spaces, " ");
		char *word = memory_new(length + 1, 1);
		memcpy(word, words + spaces, length);
		char *shown = utf8_shorten(word, width - indent);
		size_t columns = utf8_columns(shown);
		if (has_word && at + spaces + columns > width) {
			fprintf(emit->file, "\n%*s", (int)indent, "");
			at = indent;
		} else {
			fprintf(emit->file, "%*s", (int)spaces, "");
			at += spaces;
		}
		fputs(shown, emit->file);
		at += columns;
		words += spaces + length;
		free(shown);
		free(word);
	}
}

static void print_words(const struct emit *emit, size_t at, size_t indent, const char *format,
			va_list arguments)
{
	char *words = NULL;
	if (vasprintf(&words, format, arguments) < 0)
		return;
	char *printable = utf8_printable(words);
	if (emit->width_columns > 0)
		print_wrapped(emit, printable, at, indent);
	else
		fputs(printable, emit->file);
	free(printable);
	free(words);
}

void emit_heading(struct emit *emit, const char *heading)
{
	if (emit->format != EMIT_TEXT)
		return;
	fputs(emit->has_color ? "\n\033[1m" : "\n", emit->file);
	if (emit->width_columns > 0)
		print_wrapped(emit, heading, 0, INDENT);
	else
		fputs(heading, emit->file);
	fputs(emit->has_color ? "\033[0m\n" : "\n", emit->file);
}

void emit_line(struct emit *emit, const char *format, ...)
{
	va_list arguments;
	if (emit->format != EMIT_TEXT)
		return;
	va_start(arguments, format);
	print_words(emit, 0, INDENT, format, arguments);
	va_end(arguments);
	fputc('\n', emit->file);
}

void emit_labelled(struct emit *emit, const char *label, const char *format, ...)
{
	va_list arguments;
	if (emit->format != EMIT_TEXT)
		return;
	fprintf(emit->file, "%-*s ", LABEL_COLUMNS, label);
	va_start(arguments, format);
	print_words(emit, LABEL_COLUMNS + 1, LABEL_COLUMNS + 1, format, arguments);
	va_end(arguments);
	fputc('\n', emit->file);
}

void emit_strong_line(struct emit *emit, const char *format, ...)
{
	va_list arguments;
	if (emit->format != EMIT_TEXT)
		return;
	fputs(emit->has_color ? "\033[1;33m" : "", emit->file);
	va_start(arguments, format);
	print_words(emit, 0, INDENT, format, arguments);
	va_end(arguments);
	fputs(emit->has_color ? "\033[0m\n" : "\n", emit->file);
}
