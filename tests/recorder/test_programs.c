/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a child that cannot be recorded goes unmentioned, or one that can is called so. */
#include "programs.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "recording.h"
#include "roster.h"
#include "suite.h"

static void setup(void)
{
	setenv("LD_PRELOAD", "/somewhere/libwcprof.so", 1);
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

/* A file's beginning: header, one program header, the loader's name. */
struct head {
	Elf64_Ehdr header;
	Elf64_Phdr phdr;
	char interpreter[64];
};

static struct head make_head(unsigned char class, uint16_t machine, const char *interpreter)
{
	struct head head = { 0 };

	memcpy(head.header.e_ident, ELFMAG, SELFMAG);
	head.header.e_ident[EI_CLASS] = class;
	head.header.e_machine = machine;
	head.header.e_phoff = offsetof(struct head, phdr);
	head.header.e_phentsize = sizeof(Elf64_Phdr);
	head.header.e_phnum = 1;
	head.phdr.p_type = interpreter ? PT_INTERP : PT_LOAD;
	head.phdr.p_offset = offsetof(struct head, interpreter);
	if (interpreter)
		strcpy(head.interpreter, interpreter);
	return head;
}

#define GLIBC "/lib64/ld-linux-x86-64.so.2"

static const struct {
	const char *name;
	unsigned char class;
	uint16_t machine;
	const char *interpreter;
	enum counter hazard;
} files[] = {
	/* 0 */ { "/bin/a", ELFCLASS64, EM_X86_64, GLIBC, COUNTER_COUNT },
	/* 1 */ { "/bin/a", ELFCLASS64, EM_X86_64, NULL, COUNTER_unseen_static },
	/* 2 */ { GLIBC, ELFCLASS64, EM_X86_64, NULL, COUNTER_COUNT },
	/* 3 */ { "/bin/a", ELFCLASS32, EM_386, GLIBC, COUNTER_unseen_machine },
	/* 4 */ { "/bin/a", ELFCLASS64, EM_AARCH64, GLIBC, COUNTER_unseen_machine },
	/* 5 */
	{ "/bin/a", ELFCLASS64, EM_X86_64, "/lib/ld-musl-x86_64.so.1", COUNTER_unseen_musl },
};

START_TEST(a_file_says_whether_it_can_be_recorded)
{
	struct head head = make_head(files[_i].class, files[_i].machine, files[_i].interpreter);

	ck_assert_int_eq(programs_file_hazard(&head, sizeof(head), files[_i].name),
			 files[_i].hazard);
}
END_TEST

START_TEST(of_half_a_file_nothing_is_claimed)
{
	struct head head = make_head(ELFCLASS64, EM_X86_64, "/lib/ld-musl-x86_64.so.1");

	for (size_t bytes = 0; bytes < offsetof(struct head, interpreter) + 24; bytes++)
		ck_assert_int_eq(programs_file_hazard(&head, bytes, "/bin/a"), COUNTER_COUNT);
}
END_TEST

START_TEST(environments_are_read_as_the_kernel_reads_them)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *with[] = { (char *)"A=b", (char *)"LD_PRELOAD=/x/libwcprof.so", NULL };
	char *without[] = { (char *)"A=b", (char *)"LD_PRELOAD=/x/libother.so", NULL };
	char *none[] = { NULL };
	char *wild[] = { (char *)1, (char *)"A=b", (char *)1, NULL };
	char **torn = (char **)(page + 4096) - 1;
	volatile uintptr_t nowhere = 1;

	ck_assert(!programs_environment_hazard(with));
	ck_assert(programs_environment_hazard(without));
	ck_assert(programs_environment_hazard(none));
	ck_assert(programs_environment_hazard(wild));
	ck_assert(programs_environment_hazard(NULL));
	ck_assert(!programs_environment_hazard(environ));
	/* Not ended before its memory is: the kernel refuses it. */
	ck_assert_int_eq(munmap(page + 4096, 4096), 0);
	torn[0] = (char *)"A=b";
	ck_assert(!programs_environment_hazard(torn));
	/* volatile: for a compiler that knows what is no address. */
	ck_assert(!programs_environment_hazard((char **)nowhere));
}
END_TEST

static uint64_t count_of(enum counter counter)
{
	return roster_counter(recorder_arena, counter);
}

static void starts(const char *path, bool is_searched, char *const envp[])
{
	recorder_program_starts(
		&(struct program_start){ path, AT_FDCWD, is_searched, envp, false });
}

static void write_file(const char *path, const void *from, size_t bytes)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0755);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, from, bytes), (ssize_t)bytes);
	close(fd);
}

START_TEST(what_is_started_is_counted)
{
	char directory[] = "/tmp/wcprof-programs.XXXXXX", path[64], script[64], line[80];
	struct head head = make_head(ELFCLASS64, EM_X86_64, NULL);
	char *none[] = { NULL };

	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/bare", directory);
	snprintf(script, sizeof(script), "%s/script", directory);
	snprintf(line, sizeof(line), "#! %s -x\n", path);
	write_file(path, &head, sizeof(head));
	write_file(script, line, strlen(line));
	setenv("PATH", directory, 1);

	starts(path, false, environ);
	ck_assert_uint_eq(count_of(COUNTER_unseen_static), 1);
	starts("bare", true, environ);
	ck_assert_uint_eq(count_of(COUNTER_unseen_static), 2);
	starts(script, false, environ);
	ck_assert_uint_eq(count_of(COUNTER_unseen_static), 3);
	starts("bare", false, environ); /* not in this directory */
	starts("/nonexistent", false, none);
	starts((const char *)1, false, none);
	ck_assert_uint_eq(count_of(COUNTER_unseen_static), 3);
	ck_assert_uint_eq(count_of(COUNTER_unseen_environment), 0);
	starts("/bin/true", false, none);
	ck_assert_uint_eq(count_of(COUNTER_unseen_environment), 1);
	switch_disable();
	starts(path, false, environ);
	ck_assert_uint_eq(count_of(COUNTER_unseen_static), 3);
	unlink(path);
	unlink(script);
	rmdir(directory);
}
END_TEST

START_TEST(rights_are_gained_from_others_only)
{
	char path[] = "/tmp/wcprof-rights.XXXXXX";
	struct head head = make_head(ELFCLASS64, EM_X86_64, GLIBC);
	int fd = mkstemp(path);
	bool is_root = geteuid() == 0;

	ck_assert_int_eq(write(fd, &head, sizeof(head)), (ssize_t)sizeof(head));
	ck_assert_int_eq(fchmod(fd, 04755), 0);
	starts(path, false, environ);
	ck_assert_uint_eq(count_of(COUNTER_unseen_rights), 0);
	/* Only root can make a file somebody else's. */
	if (is_root) {
		ck_assert_int_eq(fchown(fd, 65534, 65534), 0);
		ck_assert_int_eq(fchmod(fd, 04755), 0);
		starts(path, false, environ);
		ck_assert_uint_eq(count_of(COUNTER_unseen_rights), 1);
	}
	unlink(path);
	close(fd);
}
END_TEST

/* Of `directory`, in which there are "program", "data" and "folder". */
static const struct {
	const char *path;
	bool is_searched;
	bool may_start;
} starts_of[] = {
	/* 0 */ { "program", true, true },
	/* 1 */ { "data", true, false },
	/* 2 */ { "folder", true, false },
	/* 3 */ { "nothing", true, false },
	/* 4 */ { "", true, false },
	/* 5 */ { "%s/program", false, true },
	/* 6 */ { "%s/data", false, false },
	/* 7 */ { "%s/folder", false, false },
	/* 8 */ { "%s/program/more", false, false },
	/* 9 */ { "program", false, false },
	/* 10 */ { "", false, false },
};

START_TEST(an_exec_that_cannot_succeed_is_known)
{
	static const char *const made[] = { "folder", "data", "program" };
	char directory[] = "/tmp/wcprof-starts.XXXXXX";
	char path[300], list[100];
	struct program_start start = { path, AT_FDCWD, starts_of[_i].is_searched, environ, false };

	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/folder", directory);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/data", directory);
	write_file(path, "x", 1);
	ck_assert_int_eq(chmod(path, 0644), 0);
	snprintf(path, sizeof(path), "%s/program", directory);
	write_file(path, "x", 1);
	ck_assert_int_eq(chmod(path, 0111), 0);
	start.path = NULL;
	start.fd = open(directory, O_RDONLY);
	ck_assert(!programs_may_start(&start));
	close(start.fd);
	start.fd = open(path, O_PATH);
	ck_assert(programs_may_start(&start));
	close(start.fd);

	snprintf(list, sizeof(list), "/nonexistent:%s", directory);
	setenv("PATH", list, 1);
	snprintf(path, sizeof(path), starts_of[_i].path, directory);
	start.path = path;
	start.fd = AT_FDCWD;
	ck_assert(programs_may_start(&start) == starts_of[_i].may_start);
	start.path = (const char *)8;
	start.is_searched = false;
	ck_assert(!programs_may_start(&start));
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, made[i]);
		ck_assert_int_eq(remove(path), 0);
	}
	rmdir(directory);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	EACH(a_file_says_whether_it_can_be_recorded, files);
	TEST(of_half_a_file_nothing_is_claimed);
	TEST(environments_are_read_as_the_kernel_reads_them);
	TEST(what_is_started_is_counted);
	TEST(rights_are_gained_from_others_only);
	EACH(an_exec_that_cannot_succeed_is_known, starts_of);
}
