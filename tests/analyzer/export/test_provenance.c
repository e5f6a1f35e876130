/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an upload says of code that it is the program's own, or some other library's. */
#include "export/exporters.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sketch.h"
#include "suite.h"

enum { MODULES = 5 };

START_TEST(libraries_come_once_with_their_files)
{
	static const char wanted[] =
		"{\"v1\":[\n"
		"{\"kind\":\"library\",\"name\":\"libssl3\",\"version\":\"3.0.15\","
		"\"paths\":[\"/a.so\",\"/b \\\"x\\\".so\"]},\n"
		"{\"kind\":\"standard library\",\"name\":\"jdk\",\"version\":\"17\","
		"\"paths\":[\"/jvm.so\"]}]}\n";
	struct sketch sketch;
	char path[] = "/tmp/test_provenance.XXXXXX", text[1000], error[EXPORT_ERROR_BYTES] = "";
	sketch_begin(&sketch);
	uint32_t ssl = sketch_string(&sketch, "libssl3"), jdk = sketch_string(&sketch, "jdk");
	uint32_t version = sketch_string(&sketch, "3.0.15"), number = sketch_string(&sketch, "17");
	struct rec_module modules[MODULES] = {
		{ .path = sketch_string(&sketch, "/own") },
		{ .path = sketch_string(&sketch, "/a.so") },
		{ .path = sketch_string(&sketch, "/jvm.so") },
		{ .path = sketch_string(&sketch, "/b \"x\".so") },
		/* of another process */
		{ .path = sketch_string(&sketch, "/a.so"), .process = 1 },
	};
	struct package packages[MODULES] = {
		{ PACKAGE_OWN, 0, 0 },         { PACKAGE_DEB, ssl, version },
		{ PACKAGE_JDK, jdk, number },  { PACKAGE_DEB, ssl, version },
		{ PACKAGE_DEB, ssl, version },
	};
	sketch.rec.modules = modules;
	sketch.rec.module_count = MODULES;
	struct labels labels = { .packages = { packages, MODULES } };
	struct options options = { .export = "code-provenance" };
	struct analysis analysis = { .recording = &sketch.rec,
				     .options = &options,
				     .labels = &labels };
	int fd = mkstemp(path);
	struct export export = { .analysis = &analysis, .path = path, .error = error };
	export.file = fopen(path, "w");
	export_provenance(&export);
	ck_assert_str_eq(error, "");
	ck_assert_int_eq(fclose(export.file), 0);
	ssize_t length = read(fd, text, sizeof(text) - 1);
	ck_assert_int_gt(length, 0);
	text[length] = '\0';
	ck_assert_str_eq(text, wanted);
	close(fd);
	unlink(path);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(libraries_come_once_with_their_files);
}
