/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small programs that a test compiles for itself, to have files with symbols that it knows.
 *
 * For test programs of one source file: everything is static. The files live in a directory under
 * /tmp that sample_begin() makes and sample_end() removes; whatever goes wrong in between ends the
 * test.
 */
#ifndef WCPROF_SAMPLE_H
#define WCPROF_SAMPLE_H

#include <check.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_PATH_BYTES = 256, SAMPLE_COMMAND_BYTES = 4096 };

static char sample_directory[64];

static const char sample_c[] =
	"static inline __attribute__((always_inline)) int inner(int x)\n"               /* 1 */
	"{\n"                                                                           /* 2 */
	"	__asm__ volatile(\".globl in_inner\\nin_inner: nop\");\n"               /* 3 */
	"	return x * 3;\n"                                                        /* 4 */
	"}\n"                                                                           /* 5 */
	"static inline __attribute__((always_inline)) int middle(int x)\n"              /* 6 */
	"{\n"                                                                           /* 7 */
	"	return inner(x + 1);\n"                                                 /* 8 */
	"}\n"                                                                           /* 9 */
	"__attribute__((noinline)) int outer(int x)\n"                                  /* 10 */
	"{\n"                                                                           /* 11 */
	"	return middle(x) + 1;\n"                                                /* 12 */
	"}\n"                                                                           /* 13 */
	"__attribute__((noinline, noreturn)) void stop(int x)\n"                        /* 14 */
	"{\n"                                                                           /* 15 */
	"	for (;;)\n"                                                             /* 16 */
	"		__asm__ volatile(\"\" : : \"r\"(x));\n"                         /* 17 */
	"}\n"                                                                           /* 18 */
	"__attribute__((noinline)) void last_call(int x)\n"                             /* 19 */
	"{\n"                                                                           /* 20 */
	"	__asm__ (\"call stop; .globl after_stop; after_stop:\" :: \"D\"(x));\n" /* 21 */
	"	__builtin_unreachable();\n"                                             /* 22 */
	"}\n"                                                                           /* 23 */
	"int table_lock[10] = { 1 };\n"                                                 /* 24 */
	"static char cache[64] = { 1 };\n"                                              /* 25 */
	"char *cache_pointer = cache;\n"                                                /* 26 */
	"__attribute__((noinline)) void *worker(void *x) { return x; }\n"               /* 27 */
	"__attribute__((noinline)) int helper(int x) { return outer(x) + 2; }\n"        /* 28 */
	"int main(int argc, char **argv)\n"                                             /* 29 */
	"{\n"                                                                           /* 30 */
	"	if (argc > 9)\n"                                                        /* 31 */
	"		last_call(argc);\n"                                             /* 32 */
	"	return helper(argc) + (worker(argv) == 0);\n"                           /* 33 */
	"}\n";

static void sample_begin(void)
{
	strcpy(sample_directory, "/tmp/wcprof-sample-XXXXXX");
	if (!mkdtemp(sample_directory))
		abort();
}

/* Runs a shell command, which must succeed. */
static __attribute__((unused, format(printf, 1, 2))) void sample_run(const char *format, ...)
{
	char command[SAMPLE_COMMAND_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	if (system(command) != 0) {
		fprintf(stderr, "failed: %s\n", command);
		abort();
	}
}

static void sample_end(void)
{
	sample_run("rm -rf '%s'", sample_directory);
}

/* The path of a file in the directory; valid until the eighth call after it. */
static const char *sample_path(const char *name)
{
	static char paths[8][SAMPLE_PATH_BYTES];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, SAMPLE_PATH_BYTES, "%s/%s", sample_directory, name);
	return path;
}

static __attribute__((unused)) void sample_write(const char *name, const void *bytes, size_t count)
{
	FILE *file = fopen(sample_path(name), "w");

	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file))
		abort();
}

/* Compiles `source` into a file called `name`; the source is called name.c or name.cc. */
static __attribute__((unused)) void sample_build(const char *compiler, const char *name,
						 const char *source, const char *flags)
{
	char source_name[SAMPLE_PATH_BYTES / 2];

	snprintf(source_name, sizeof(source_name), "%.100s.%s", name,
		 strstr(compiler, "++") ? "cc" : "c");
	sample_write(source_name, source, strlen(source));
	sample_run("cd '%s' && %s %s -o %s %s", sample_directory, compiler, flags, name,
		   source_name);
}

/* The address that nm gives the symbol. */
static __attribute__((unused)) uint64_t sample_symbol(const char *name, const char *symbol)
{
	char command[SAMPLE_COMMAND_BYTES], line[1024], found[512];
	unsigned long long address, result = 0;
	FILE *pipe;
	char type;

	snprintf(command, sizeof(command), "nm '%s'", sample_path(name));
	pipe = popen(command, "r");
	while (pipe && fgets(line, sizeof(line), pipe))
		if (sscanf(line, "%llx %c %511s", &address, &type, found) == 3 &&
		    !strcmp(found, symbol))
			result = address;
	if (!pipe || pclose(pipe) || !result) {
		fprintf(stderr, "%s has no symbol %s\n", name, symbol);
		abort();
	}
	return result;
}

/* The build id in hexadecimal. */
static __attribute__((unused)) void sample_build_id(const char *name, char build_id[64])
{
	char command[SAMPLE_COMMAND_BYTES], line[1024];
	FILE *pipe;

	build_id[0] = '\0';
	snprintf(command, sizeof(command), "readelf -n '%s'", sample_path(name));
	pipe = popen(command, "r");
	while (pipe && fgets(line, sizeof(line), pipe))
		sscanf(line, " Build ID: %63s", build_id);
	if (!pipe || pclose(pipe) || !build_id[0])
		abort();
}

/* Where the code of a file is. */
static __attribute__((unused)) void sample_text(const char *name, uint64_t *start, uint64_t *end)
{
	char command[SAMPLE_COMMAND_BYTES];
	unsigned long long address, bytes;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "objdump -h '%s' | awk '$2 == \".text\" { print $4, $3 }'", sample_path(name));
	pipe = popen(command, "r");
	if (!pipe || fscanf(pipe, "%llx %llx", &address, &bytes) != 2 || pclose(pipe))
		abort();
	*start = address;
	*end = address + bytes;
}

#endif
