/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: what goes through libc's streams is the same with every form of a call, and only
 * what reached a descriptor is an op. 10000 bytes are read and written one by one, through a buffer
 * of 4096.
 */
#include "scenario.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <wchar.h>

/* Slow paths that programs have inside their macros, and forms that the compiler puts in. */
int __uflow(FILE *);
int __overflow(FILE *, int);
int __printf_chk(int, const char *, ...);
int __fprintf_chk(FILE *, int, const char *, ...);
int __vfprintf_chk(FILE *, int, const char *, va_list);
int __dprintf_chk(int, int, const char *, ...);
char *__fgets_chk(char *, size_t, int, FILE *);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
int old_getc(FILE *) __asm__("_IO_getc");
int old_putc(int, FILE *) __asm__("_IO_putc");
int old_printf(const char *, ...) __asm__("_IO_printf");

enum { BYTES = 10000, BUFFER = 4096, LINE = 100 };

static char path[] = "/tmp/wcprof-target-XXXXXX";
static char buffer[BUFFER];

static void make_file(void)
{
	int fd = mkstemp(path);
	char line[LINE];
	memset(line, 'x', LINE);
	line[LINE - 1] = '\n';
	for (int i = 0; i < BYTES / LINE; i++)
		(void)!write(fd, line, LINE);
	close(fd);
}

static FILE *open_file(const char *mode)
{
	FILE *file = fopen(path, mode);
	setvbuf(file, buffer, _IOFBF, BUFFER);
	return file;
}

static void bytes(void)
{
	int count = 0;
	make_file();
	FILE *file = open_file("r");
	while (getc(file) != EOF)
		count++;
	printf("getc %d\n", count);
	say_errno("fclose", fclose(file));
	file = open_file("w");
	for (int i = 0; i < BYTES; i++)
		count -= putc('y', file) == 'y';
	printf("putc %d\n", count);
	say_errno("fclose", fclose(file));
	unlink(path);
}

static void lines(void)
{
	char text[2 * LINE];
	char *line = NULL;
	size_t room = 0;
	int count = 0;
	make_file();
	FILE *file = open_file("r");
	while (fgets(text, sizeof(text), file))
		count++;
	printf("fgets %d\n", count);
	rewind(file);
	while (getline(&line, &room, file) > 0)
		count--;
	printf("getline %d\n", count);
	say_errno("fseek", fseek(file, 0, SEEK_SET));
	while (__fgets_chk(text, sizeof(text), LINE / 2, file))
		count++;
	printf("fgets_chk %d\n", count);
	say_errno("fclose", fclose(file));
	free(line);
	unlink(path);
}

static void blocks(void)
{
	char data[50];
	int count = 0;
	make_file();
	FILE *file = open_file("r");
	while (fread(data, 1, sizeof(data), file) == sizeof(data))
		count++;
	printf("fread %d, %d\n", count, feof(file));
	rewind(file);
	printf("fread_chk %zu\n", __fread_chk(data, sizeof(data), 5, 10, file));
	say_errno("__uflow", __uflow(file));
	say_errno("_IO_getc", old_getc(file));
	fclose(file);
	file = open_file("r+");
	for (int i = 0; i < BYTES / 50; i++)
		count -= fwrite(data, 1, sizeof(data), file) == sizeof(data);
	printf("fwrite %d\n", count);
	say_errno("fputs", fputs("text", file) >= 0);
	say_errno("_IO_putc", old_putc('c', file));
	say_errno("__overflow", __overflow(file, 'o'));
	say_errno("fflush", fflush(file));
	say_errno("fflush, all", fflush(NULL));
	say_errno("freopen", (file = freopen("/dev/full", "w", file)) != NULL);
	say_errno("fputs, full", fputs("text", file) >= 0);
	say_errno("fflush, full", fflush(file));
	fclose(file);
	unlink(path);
}

static int by_list(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int result = vprintf(format, list);
	va_end(list);
	va_start(list, format);
	result += __vfprintf_chk(stdout, 1, format, list);
	va_end(list);
	return result;
}

/* Numbers in registers of both kinds and on the stack. */
#define NUMBERS 1, 2.5, 3, 4.5, 5, 6.5, 7, 8.5, 9, 10.5, 11, 12.5, 13, 14.5, 15, 16.5, 17, 18.5
#define FORMAT  "%d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g\n"

static void formats(void)
{
	char word[16] = "";
	float number = 0;
	int count = 0;
	printf("printf " FORMAT, NUMBERS);
	fprintf(stdout, "fprintf " FORMAT, NUMBERS);
	__printf_chk(1, "printf_chk " FORMAT, NUMBERS);
	__fprintf_chk(stdout, 1, "fprintf_chk " FORMAT, NUMBERS);
	old_printf("_IO_printf " FORMAT, NUMBERS);
	printf("by list %d\n", by_list("list " FORMAT, NUMBERS));
	fflush(stdout);
	dprintf(1, "dprintf " FORMAT, NUMBERS);
	__dprintf_chk(1, 1, "dprintf_chk " FORMAT, NUMBERS);
	FILE *file = tmpfile();
	fprintf(file, "%s %g %d\n", "word", 1.5, 42);
	rewind(file);
	printf("fscanf %d", fscanf(file, "%15s %g %d", word, &number, &count));
	printf(" %s %g %d\n", word, (double)number, count);
	fclose(file);
}

static void wide(void)
{
	wchar_t line[32];
	FILE *file = tmpfile();
	printf("fwprintf %d\n", fwprintf(file, L"%d %ls\n", 7, L"wide"));
	printf("fputwc %d\n", fputwc(L'w', file) == L'w');
	printf("fputws %d\n", fputws(L"ide\n", file) >= 0);
	rewind(file);
	printf("fgetws %d\n", fgetws(line, 32, file) && wcscmp(line, L"7 wide\n") == 0);
	printf("fgetwc %d\n", fgetwc(file) == L'w');
	printf("fwscanf %d\n", fwscanf(file, L"%31ls", line));
	fclose(file);
}

static int ends[2];

static void read_line(void)
{
	char line[16];
	FILE *file = fdopen(ends[0], "r");
	printf("fgets %d\n", fgets(line, sizeof(line), file) != NULL);
}

static void cancelled(void)
{
	struct helper helper;
	(void)!pipe(ends);
	helper_start(&helper, read_line);
	until_in_call(helper.tid, SYS_read);
	pthread_cancel(helper.thread);
	helper_join(&helper);
}

static FILE *shared;

static void print_shared(void)
{
	say_errno("fwrite", (long)fwrite("xy", 1, 2, shared));
}

static void lock_shared(void)
{
	flockfile(shared);
	funlockfile(shared);
}

/* Two threads wait for a stream that is locked: one in a call, one for the lock itself. */
static void locked(void)
{
	struct helper printer, locker;
	shared = fopen("/dev/null", "w");
	fputs("a buffer", shared);
	flockfile(shared);
	flockfile(shared);
	helper_start(&printer, print_shared);
	until_in_call(printer.tid, SYS_futex);
	helper_start(&locker, lock_shared);
	until_in_call(locker.tid, SYS_futex);
	funlockfile(shared);
	funlockfile(shared);
	helper_join(&printer);
	helper_join(&locker);
}

static void children(void)
{
	char line[32] = "";
	FILE *file = popen("echo from a child; exit 3", "r");
	printf("%s", fgets(line, sizeof(line), file));
	int status = pclose(file);
	printf("status %d\n", WEXITSTATUS(status));
	file = popen("cat >/dev/null", "w");
	fputs("to a child", file);
	say_errno("pclose", pclose(file));
}

static void forks(void)
{
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			dprintf(1, "child %d %g\n", i, 0.5 + i);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static const struct scenario scenarios[] = {
	{ "bytes", bytes },     { "lines", lines },       { "blocks", blocks },
	{ "formats", formats }, { "wide", wide },         { "cancelled", cancelled },
	{ "locked", locked },   { "children", children }, { "forks", forks },
};

SCENARIOS_MAIN
