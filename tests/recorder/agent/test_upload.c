/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, a request is not what its receiver reads. tests/agent/test_uploads has real
 * decoders read them. */
#include "upload.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

static const struct tags tags = {
	.service = "a \"b\", c", .version = "1", .host = "h", .instance = "i", .pid = 77
};

static struct upload_window window;
static struct upload_request request;

static void setup(void)
{
	window = (struct upload_window){ .tags = &tags,
					 .begin_ns = 1000000000,
					 .end_ns = UINT64_C(1700000000123000000),
					 .share_ppm = 250000 };
	body_puts(&window.profiles[UPLOAD_wall], "WALL");
	body_puts(&window.profiles[UPLOAD_block], "BLOCK");
}

static void teardown(void)
{
	upload_free(&window);
	body_free(&request.body);
}

static json_t *parse(void)
{
	json_t *parsed = json_loadb(request.body.bytes, request.body.used, 0, NULL);

	ck_assert_ptr_nonnull(parsed);
	return parsed;
}

static const char *label(json_t *labels, const char *name)
{
	size_t i;
	json_t *one;

	json_array_foreach(labels, i,
			   one) if (strcmp(json_string_value(json_object_get(one, "name")), name) ==
				    0) return json_string_value(json_object_get(one, "value"));
	return NULL;
}

START_TEST(pyroscope_has_a_series_for_each)
{
	json_t *all, *series, *labels, *sample;

	ck_assert(upload_make(CONFIG_pyroscope, &window, &request));
	ck_assert_str_eq(request.content_type, "application/json");
	all = parse();
	ck_assert_uint_eq(json_array_size(json_object_get(all, "series")), 2);
	series = json_array_get(json_object_get(all, "series"), 1);
	labels = json_object_get(series, "labels");
	ck_assert_str_eq(label(labels, "__name__"), "block");
	ck_assert_str_eq(label(labels, "service_name"), tags.service);
	ck_assert_str_eq(label(labels, "version"), "1");
	ck_assert_ptr_null(label(labels, "environment"));
	sample = json_array_get(json_object_get(series, "samples"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(sample, "rawProfile")), "QkxPQ0s=");
	ck_assert_uint_eq(strlen(json_string_value(json_object_get(sample, "ID"))), 36);
	json_decref(all);
}
END_TEST

START_TEST(parca_has_its_labels_one_deeper)
{
	json_t *all, *series, *labels;

	ck_assert(upload_make(CONFIG_parca, &window, &request));
	all = parse();
	series = json_array_get(json_object_get(all, "series"), 0);
	labels = json_object_get(json_object_get(series, "labels"), "labels");
	ck_assert_str_eq(label(labels, "__name__"), "wall");
	ck_assert_str_eq(label(labels, "job"), tags.service);
	ck_assert(json_is_false(json_object_get(all, "normalized")));
	json_decref(all);
}
END_TEST

START_TEST(datadog_has_its_times_and_tags)
{
	ck_assert(upload_make(CONFIG_datadog, &window, &request));
	body_put(&request.body, "", 1);
	ck_assert_ptr_nonnull(strstr(request.body.bytes, "\"start\":\"1970-01-01T00:00:01.000Z\","
							 "\"end\":\"2023-11-14T22:13:20.123Z\""));
	ck_assert_ptr_nonnull(strstr(request.body.bytes,
				     "{\"attachments\":[\"wall.pprof\",\"delta-block.pprof\"],"));
	ck_assert_ptr_nonnull(strstr(request.body.bytes,
				     ",service:a \\\"b\\\"_ c,version:1,host:h,runtime-id:i,"
				     "process_id:77,"));
	ck_assert_ptr_nonnull(strstr(request.body.bytes, ",wcprof_duty:0.25\""));
	ck_assert_ptr_null(strstr(request.body.bytes, "code-provenance"));
}
END_TEST

START_TEST(otlp_is_the_analyzers)
{
	ck_assert(!upload_make(CONFIG_otlp, &window, &request));
	body_puts(&window.otlp, "MESSAGE");
	ck_assert(upload_make(CONFIG_otlp, &window, &request));
	ck_assert_uint_eq(request.body.used, 7);
	ck_assert_str_eq(request.content_type, "application/x-protobuf");
}
END_TEST

START_TEST(without_profiles_nothing_is_sent)
{
	upload_free(&window);
	for (int i = 0; i < CONFIG_PROTOCOLS; i++)
		ck_assert(!upload_make((enum config_protocol)i, &window, &request));
}
END_TEST

static const struct {
	enum config_protocol protocol;
	const char *answer;
	size_t count;
	bool was_taken;
} answers[] = {
	/* 0 */ { CONFIG_otlp, "", 0, true },
	/* 1: an empty partial success */ { CONFIG_otlp, "\x0a\x00", 2, true },
	/* 2 */ { CONFIG_otlp, "\x0a\x02\x08\x03", 4, false },
	/* 3: a warning */ { CONFIG_otlp, "\x0a\x04\x12\x02hi", 6, true },
	/* 4: cut off */ { CONFIG_otlp, "\x0a\x02\x08", 3, true },
	/* 5 */ { CONFIG_otlp, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, true },
	/* 6 */ { CONFIG_otlp, "<html>", 6, true },
	/* 7 */ { CONFIG_pyroscope, "\x0a\x02\x08\x03", 4, true },
	/* 8 */ { CONFIG_otlp, "\x0a\x02\x08\x00", 4, true },
};

START_TEST(an_answer_may_refuse)
{
	ck_assert_int_eq(
		upload_was_taken(answers[_i].protocol, answers[_i].answer, answers[_i].count),
		answers[_i].was_taken);
}
END_TEST

static void write_file(const char *directory, const char *name, const char *bytes, size_t count)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(write(fd, bytes, count), (ssize_t)count);
	close(fd);
}

START_TEST(files_are_read_and_large_ones_are_not)
{
	char directory[] = "/tmp/wcprof-upload.XXXXXX", command[64];

	upload_free(&window);
	ck_assert_ptr_nonnull(mkdtemp(directory));
	write_file(directory, "cpu.pprof", "abcd\x01\x00\x00\x00", 8);
	/* gzip's last four bytes: 4 MB and one byte when it is unpacked. */
	write_file(directory, "wall.pprof", "abcd\x01\x00\x40\x00", 8);
	write_file(directory, "code-provenance.json", "{}", 2);
	ck_assert_uint_eq(upload_read(&window, directory), 1);
	ck_assert_uint_eq(window.profiles[UPLOAD_cpu].used, 8);
	ck_assert_uint_eq(window.profiles[UPLOAD_wall].used, 0);
	ck_assert_uint_eq(window.profiles[UPLOAD_block].used, 0);
	ck_assert_uint_eq(window.provenance.used, 2);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(ids_differ)
{
	char one[UPLOAD_ID_BYTES], two[UPLOAD_ID_BYTES];

	upload_put_id(one);
	upload_put_id(two);
	ck_assert_str_ne(one, two);
	ck_assert_int_eq(one[14], '4');
	ck_assert_ptr_nonnull(strchr("89ab", one[19]));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(pyroscope_has_a_series_for_each);
	TEST(parca_has_its_labels_one_deeper);
	TEST(datadog_has_its_times_and_tags);
	TEST(otlp_is_the_analyzers);
	TEST(without_profiles_nothing_is_sent);
	EACH(an_answer_may_refuse, answers);
	TEST(files_are_read_and_large_ones_are_not);
	TEST(ids_differ);
}
