/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the page together; page.h has the contract.
 *
 * The data stand in a script element that is not run. There, "<" is the only character that could
 * end it, and in JSON it comes in strings alone, where \u003c is the same.
 */
#include "page.h"

#include <string.h>

#include "report/reports.h"

extern const char page_style[], page_script[];

/* A stream into the file, in which no "<" is left. */
static ssize_t write_escaped(void *cookie, const char *text, size_t length)
{
	FILE *file = cookie;
	for (const char *at = text, *end = text + length; at < end;) {
		const char *less = memchr(at, '<', (size_t)(end - at));
		fwrite(at, 1, (size_t)((less ? less : end) - at), file);
		if (less)
			fputs("\\u003c", file);
		at = less ? less + 1 : end;
	}
	return (ssize_t)length;
}

/* One object of the data: what `put` emits. */
static void put_object(FILE *file, const char *name, const struct analysis *analysis,
		       void (*put)(const struct analysis *, struct emit *))
{
	struct emit emit;
	fprintf(file, "\"%s\": ", name);
	emit_begin(&emit, file, EMIT_JSON, 0, false);
	emit.is_brief = true;
	put(analysis, &emit);
	emit_end(&emit);
}

static void put_sections(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = { { .key = "name" }, { .key = "title" } };
	static const struct {
		const char *name;
		const char *title;
	} sections[] = {
#define SECTION(name, title)      { #name, title },
#define DATA_SECTION(name, title) { #name, title },
#include "page.def"
	};
	(void)analysis;
	emit_table_begin(emit, "list", EMIT_OBJECTS, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		emit_row_begin(emit);
		emit_cell_text(emit, sections[i].name);
		emit_cell_text(emit, sections[i].title);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static void put_data(FILE *file, const struct analysis *analysis)
{
	fputs("{\n", file);
	put_object(file, "sections", analysis, put_sections);
#define SECTION(name, title)
#define DATA_SECTION(name, title) \
	fputs(",\n", file);       \
	put_object(file, #name, analysis, page_##name);
#include "page.def"
	fputs(",\n", file);
	put_object(file, "report", analysis, reports_print);
	fputs("}\n", file);
}

static const char head[] =
	"<!doctype html>\n"
	"<html lang=\"en\">\n"
	"<head>\n"
	"<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
	"'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action "
	"'none'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<link rel=\"icon\" href=\"data:,\">\n"
	"<title>wcprof</title>\n";

/* Without indentation and lines of comment, which are a tenth of it. No text has several lines. */
static void put_code(FILE *file, const char *code)
{
	for (const char *line = code, *end; *line; line = end) {
		line += strspn(line, "\t");
		end = strchrnul(line, '\n');
		end += *end == '\n';
		if (strncmp(line, "//", 2) != 0)
			fwrite(line, 1, (size_t)(end - line), file);
	}
}

bool page_write(FILE *file, const struct analysis *analysis)
{
	FILE *data = fopencookie(file, "w", (cookie_io_functions_t){ .write = write_escaped });
	if (!data)
		return false;
	fputs(head, file);
	fputs("<style>\n", file);
	put_code(file, page_style);
	fputs("</style>\n</head>\n<body>\n", file);
	fputs("<noscript>The figures of this page are drawn by its script.</noscript>\n", file);
	fputs("<script type=\"application/json\" id=\"data\">", file);
	put_data(data, analysis);
	fclose(data);
	fputs("</script>\n", file);
	fputs("<script>\n", file);
	put_code(file, page_script);
	fputs("wcprof.start();\n</script>\n</body>\n</html>\n", file);
	return true;
}
