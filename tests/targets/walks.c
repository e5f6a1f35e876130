/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: a walk tells of the same files in all its forms. The program's calls when it is
 * told (35 sleeps, 10 writes) are not the walk's.
 */
#include "scenario.h"

#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <setjmp.h>
#include <sys/stat.h>

int old_nftw(const char *, __nftw_func_t, int, int);
__asm__(".symver old_nftw, nftw@GLIBC_2.2.5");

static char directory[] = "/tmp/wcprof-walks-XXXXXX";
static int told;

static void make(void)
{
	char name[64];
	say_errno("directory", mkdtemp(directory) ? 0 : -1);
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s/%d", directory, i);
		mkdir(name, 0700);
		snprintf(name, sizeof(name), "%s/%d/file", directory, i);
		close(creat(name, 0600));
	}
}

static int count(const char *path, const struct stat *seen, int type)
{
	(void)path;
	told += 1 + (type == FTW_F && S_ISREG(seen->st_mode) ? 100 : 0);
	usleep(1);
	return 0;
}

static int count_level(const char *path, const struct stat *seen, int type, struct FTW *place)
{
	told += 1000 * place->level;
	return count(path, seen, type);
}

static void say_told(const char *what, long result)
{
	say_errno(what, result);
	printf("told: %d\n", told);
	told = 0;
}

static int stop(const char *path, const struct stat *seen, int type)
{
	(void)path;
	(void)seen;
	return type == FTW_F ? 17 : 0;
}

/* From inside a walk, another one. */
static int walk_again(const char *path, const struct stat *seen, int type, struct FTW *place)
{
	(void)seen;
	if (type == FTW_D && place->level == 1)
		return ftw(path, count, 4);
	return 0;
}

static sigjmp_buf back;

static int leave(const char *path, const struct stat *seen, int type)
{
	(void)path;
	(void)seen;
	if (type == FTW_F)
		siglongjmp(back, 1);
	return 0;
}

static int leave_and_go_on(const char *path, const struct stat *seen, int type, struct FTW *place)
{
	if (type == FTW_D && place->level == 1 && sigsetjmp(back, 0) == 0)
		ftw(path, leave, 4);
	return place->level == 0 ? count(path, seen, type) : 0;
}

static int remove_it(const char *path, const struct stat *seen, int type, struct FTW *place)
{
	(void)seen;
	(void)type;
	(void)place;
	return remove(path);
}

static void list(void)
{
	char *const paths[] = { directory, NULL };
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int files = 0;
	for (FTSENT *entry = fts_read(walk); entry; entry = fts_read(walk))
		files += entry->fts_info == FTS_F;
	printf("fts: %d files, close %d\n", files, fts_close(walk));
}

static void all(void)
{
	make();
	say_told("ftw", ftw(directory, count, 4));
	say_told("nftw", nftw(directory, count_level, 4, FTW_PHYS));
	say_told("old nftw", old_nftw(directory, count_level, 4, FTW_DEPTH));
	say_told("bad flags", old_nftw(directory, count_level, 4, 1 << 20));
	say_told("stopped", ftw(directory, stop, 4));
	say_told("absent", ftw("/nonexistent", count, 4));
	say_told("again", nftw(directory, walk_again, 4, FTW_PHYS));
	say_told("left", nftw(directory, leave_and_go_on, 4, FTW_PHYS));
	list();
	say_told("removed", nftw(directory, remove_it, 4, FTW_DEPTH | FTW_PHYS));
	int fd = open("/dev/null", O_WRONLY);
	for (int i = 0; i < 10; i++)
		(void)!write(fd, "x", 1);
}

static const struct scenario scenarios[] = {
	{ "all", all },
};

SCENARIOS_MAIN
