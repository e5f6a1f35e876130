/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, Prometheus refuses the metrics, or reads half a file. */
#include "metrics.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

START_TEST(each_has_its_help_type_and_value)
{
	struct body body = { 0 };
	unsigned lines = 0;

	metrics.uploads_total = 12;
	metrics.own_seconds_total = 0.5;
	metrics.upload_bytes_total = 123456789012;
	metrics_put(&body);
	body_put(&body, "", 1);
	ck_assert_ptr_nonnull(strstr(body.bytes, "# TYPE wcprof_agent_uploads_total counter\n"
						 "wcprof_agent_uploads_total 12\n"));
	ck_assert_ptr_nonnull(strstr(body.bytes, "\nwcprof_agent_own_seconds_total 0.5\n"));
	ck_assert_ptr_nonnull(
		strstr(body.bytes, "\nwcprof_agent_upload_bytes_total 123456789012\n"));
	for (const char *at = body.bytes; (at = strchr(at, '\n')); at++)
		lines++;
	ck_assert_uint_eq(lines % 3, 0);
	/* As Prometheus wants names of counters to end. */
	for (const char *at = body.bytes; (at = strstr(at, " counter\n")); at++)
		ck_assert(strncmp(at - 6, "_total", 6) == 0);
	body_free(&body);
}
END_TEST

START_TEST(the_kernel_knows_what_the_agent_takes)
{
	metrics_measure();
	ck_assert_double_gt(metrics.own_resident_bytes, 100000);
	ck_assert_double_ge(metrics.own_seconds_total, 0);
}
END_TEST

START_TEST(a_file_is_replaced_at_once)
{
	char directory[] = "/tmp/wcprof-metrics.XXXXXX", path[100], command[64];
	struct stat before, after;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/wcprof.prom", directory);
	ck_assert_int_eq(metrics_write(path), 0);
	ck_assert_int_eq(stat(path, &before), 0);
	ck_assert_int_eq(before.st_mode & 0777, 0644 & before.st_mode);
	ck_assert_int_eq(metrics_write(path), 0);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_uint_ne(before.st_ino, after.st_ino);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(metrics_write(path), -ENOENT);
}
END_TEST

START_TEST(a_place_that_is_none_is_an_error)
{
	ck_assert_int_eq(metrics_write("/dev/full/x"), -ENOTDIR);
}
END_TEST

SUITE()
{
	TEST(each_has_its_help_type_and_value);
	TEST(the_kernel_knows_what_the_agent_takes);
	TEST(a_file_is_replaced_at_once);
	TEST(a_place_that_is_none_is_an_error);
}
