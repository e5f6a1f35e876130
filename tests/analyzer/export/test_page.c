/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a page lacks data, or a name in a recording ends them and is taken for markup. */
#include "export/page.h"

#include <jansson.h>
#include <string.h>

#include "sketch.h"
#include "suite.h"

static const char begin[] = "<script type=\"application/json\" id=\"data\">", end[] = "</script>";
static const char hostile[] = "</script><script>alert(1)</script><!-- \"'\\\xff\x01";

static char *page_text(struct sketch *sketch)
{
	char command[] = "wcprof-analyze", path[sizeof(hostile)];
	char *words[] = { command, strcpy(path, hostile) };
	const struct options options = { .factors = { { 0 }, 1 },
					 .class_regex = "",
					 .client = "",
					 .thread_glob = "",
					 .model = "threads",
					 .top = 20,
					 .words = words,
					 .word_count = 2 };
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES], *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);
	ck_assert_int_eq(analysis_build(&analysis, &sketch->rec, &options, NULL, error), 0);
	ck_assert(page_write(file, &analysis));
	fclose(file);
	analysis_free(&analysis);
	return text;
}

/* The data, taken out as a browser does it. */
static json_t *page_data(char *text)
{
	char *from = strstr(text, begin);
	ck_assert(from != NULL);
	from += strlen(begin);
	char *to = strstr(from, end);
	ck_assert(to != NULL);
	json_t *data = json_loadb(from, (size_t)(to - from), 0, NULL);
	ck_assert_msg(data != NULL, "the data are no JSON");
	return data;
}

static const char *const names[] = {
#define SECTION(name, title)      #name,
#define DATA_SECTION(name, title) #name,
#include "export/page.def"
};

static const char *const data_names[] = {
#define SECTION(name, title)
#define DATA_SECTION(name, title) #name,
#include "export/page.def"
};

START_TEST(every_section_has_its_script_and_its_data)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000);
	char *text = page_text(&sketch);
	json_t *data = page_data(text);
	const json_t *list = json_object_get(json_object_get(data, "sections"), "list");
	ck_assert_uint_eq(json_array_size(list), sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *row = json_array_get(list, i);
		char *call;
		ck_assert_str_eq(json_string_value(json_object_get(row, "name")), names[i]);
		ck_assert(asprintf(&call, "wcprof.section('%s'", names[i]) > 0);
		ck_assert_msg(strstr(text, call), "no %s", call);
		free(call);
	}
	for (size_t i = 0; i < sizeof(data_names) / sizeof(data_names[0]); i++)
		ck_assert(json_is_object(json_object_get(data, data_names[i])));
	ck_assert(json_is_object(json_object_get(data, "report")));
	json_decref(data);
	free(text);
	sketch_free(&sketch);
}
END_TEST

START_TEST(names_cannot_end_the_data)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000);
	sketch.rec.strings[1] = hostile;
	char *text = page_text(&sketch);
	json_t *data = page_data(text), *report = json_object_get(data, "report");
	const json_t *class = json_array_get(json_object_get(report, "classes"), 0);
	ck_assert_mem_eq(json_string_value(json_object_get(class, "class")), hostile, 40);
	ck_assert_ptr_eq(strstr(text, "alert(1)</script>"), NULL);
	json_decref(data);
	free(text);
	sketch_free(&sketch);
}
END_TEST

START_TEST(nothing_is_asked_of_anywhere)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000);
	char *text = page_text(&sketch);
	ck_assert_ptr_ne(strstr(text, "default-src 'none'"), NULL);
	ck_assert_ptr_eq(strstr(text, "https:"), NULL);
	ck_assert_ptr_eq(strstr(text, "innerHTML"), NULL);
	ck_assert_ptr_eq(strstr(text, "@import"), NULL);
	ck_assert_ptr_eq(strstr(text, "src="), NULL);
	free(text);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(every_section_has_its_script_and_its_data);
	TEST(names_cannot_end_the_data);
	TEST(nothing_is_asked_of_anywhere);
}
