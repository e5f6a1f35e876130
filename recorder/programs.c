/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hazards that keep a started program from being recorded. See programs.h.
 *
 * One read of the file's beginning: its header, its program headers and nearly always the name of
 * its loader lie there. The environment is the kernel's to judge, so it is read as the kernel would
 * read it. process_vm_readv fails where a load would fault. A filter of system calls may end a
 * process for that one. So where there is a filter, only the process's own environment is looked
 * at.
 *
 * An exec that fails for its file is known to before it is tried. One that fails for its arguments
 * is not.
 */
#include "programs.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "syscalls.h"

#include "in_target.h"

#ifndef __x86_64__
#error "programs.c knows which machine this is on x86-64 only"
#endif

/* Of what does not fit nothing is claimed. */
enum { HEAD_BYTES = 1024, PATH_BYTES = 512, VARIABLES_AT_ONCE = 32, VARIABLES_MAX = 4096 };

static const char preload_variable[] = "LD_PRELOAD=";
enum { PREFIX_BYTES = sizeof(preload_variable) - 1, PAGE_BYTES = 4096 };

/* Not blocking: a path may be a pipe, which no exec would open. */
enum { LOOK_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

static bool depends_on_environment;

static bool names_us(const char *preload)
{
	return preload && strstr(preload, "libwcprof");
}

void programs_start(const char *preload)
{
	depends_on_environment = names_us(preload);
}

/* --- The file -------------------------------------------------------------------------------- */

static bool is_loader(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;

	return strncmp(base, "ld-linux", 8) == 0 || strncmp(base, "ld.so", 5) == 0;
}

/* The hazard that the name of the loader tells; it ends within the file's beginning or is not
 * looked at. */
static enum counter interpreter_hazard(const char *at, size_t bytes)
{
	if (!memchr(at, '\0', bytes))
		return COUNTER_COUNT;
	return strstr(at, "musl") ? COUNTER_unseen_musl : COUNTER_COUNT;
}

enum counter programs_file_hazard(const void *from, size_t bytes, const char *name)
{
	Elf64_Ehdr header;
	Elf64_Phdr phdr;

	if (bytes < sizeof(header) || memcmp(from, ELFMAG, SELFMAG) != 0)
		return COUNTER_COUNT;
	memcpy(&header, from, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
		return COUNTER_unseen_machine;
	for (size_t i = 0; i < header.e_phnum; i++) {
		uint64_t at = header.e_phoff + i * sizeof(phdr);

		if (header.e_phentsize != sizeof(phdr) || at > bytes || bytes - at < sizeof(phdr))
			return COUNTER_COUNT;
		memcpy(&phdr, (const char *)from + at, sizeof(phdr));
		if (phdr.p_type == PT_INTERP)
			return phdr.p_offset < bytes
				       ? interpreter_hazard((const char *)from + phdr.p_offset,
							    bytes - phdr.p_offset)
				       : COUNTER_COUNT;
	}
	return is_loader(name) ? COUNTER_COUNT : COUNTER_unseen_static;
}

/* The value of the variable whose name with "=" is `prefix`; NULL: there is none. */
static const char *variable(char *const envp[], const char *prefix)
{
	size_t length = strlen(prefix);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, prefix, length) == 0)
			return *envp + length;
	return NULL;
}

/* Each name in PATH, as libc does it, until `look` takes one, which it does by a result >= 0. That
 * result, or -1. `path` has room for PATH_BYTES. */
static int look_in_path(const char *name, char *path, int (*look)(const char *path))
{
	const char *at = variable(environ, "PATH=");
	size_t length = strlen(name);

	for (at = at ? at : "/bin:/usr/bin"; at;
	     at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		size_t directory = strcspn(at, ":");
		int result;

		if (directory + length + 2 > PATH_BYTES)
			continue;
		memcpy(path, at, directory);
		path[directory] = '/';
		memcpy(path + directory + (directory > 0), name, length + 1);
		result = look(path);
		if (result >= 0)
			return result;
	}
	return -1;
}

static int open_program(const char *path)
{
	return sys_open(path, LOOK_FLAGS, 0);
}

/* Set-user-ID and set-group-ID: the loader then ignores LD_PRELOAD, unless nothing is gained. */
static bool gains_rights(int fd)
{
	struct stat info;

	if (sys_fstat(fd, &info) != 0)
		return false;
	return (info.st_mode & S_ISUID && info.st_uid != (uid_t)sys_geteuid()) ||
	       (info.st_mode & S_ISGID && info.st_mode & S_IXGRP &&
		info.st_gid != (gid_t)SYS3(getegid, 0, 0, 0));
}

/* The hazard of an open file; `script`, of PATH_BYTES, receives the interpreter of a script, or
 * "". */
static enum counter open_file_hazard(int fd, const char *name, char *script)
{
	_Alignas(8) char head[HEAD_BYTES];
	long got = sys_call(SYS_pread64, fd, (long)head, sizeof(head) - 1, 0, 0, 0);
	const char *at = head + 2;

	script[0] = '\0';
	if (got <= 2)
		return COUNTER_COUNT;
	head[got] = '\0';
	if (head[0] == '#' && head[1] == '!') {
		size_t length;

		at += strspn(at, " \t");
		length = strcspn(at, " \t\n");
		if (length < PATH_BYTES) {
			memcpy(script, at, length);
			script[length] = '\0';
		}
		return COUNTER_COUNT;
	}
	if (gains_rights(fd))
		return COUNTER_unseen_rights;
	return programs_file_hazard(head, (size_t)got, name);
}

/* The path is the kernel's to read: it is there only if it may be empty. */
static bool has_empty_path(const struct program_start *start)
{
	const long at = start->fd, path = (long)start->path;

	return start->may_be_empty && sys_call(SYS_faccessat, at, path, F_OK, 0, 0, 0) == -ENOENT &&
	       sys_call(SYS_faccessat2, at, path, F_OK, AT_EMPTY_PATH, 0, 0) == 0;
}

/* False: there is no such file, or it may not be read. */
static bool find_file_hazard(const struct program_start *start, enum counter *hazard)
{
	static const char nameless[] = "";
	char path[PATH_BYTES], script[PATH_BYTES];
	const char *name = start->path ? start->path : nameless;
	int fd = start->fd;

	if (start->path && start->is_searched && !strchr(start->path, '/')) {
		fd = look_in_path(start->path, path, open_program);
		name = path;
	} else if (start->path && !has_empty_path(start)) {
		fd = (int)sys_call(SYS_openat, start->fd, (long)start->path, LOOK_FLAGS, 0, 0, 0);
	}
	/* A path that the kernel cannot read is not read here either. */
	if (fd < 0)
		return false;
	*hazard = open_file_hazard(fd, name, script);
	if (fd != start->fd)
		sys_close(fd);
	if (script[0] && (fd = sys_open(script, LOOK_FLAGS, 0)) >= 0) {
		*hazard = open_file_hazard(fd, script, path);
		sys_close(fd);
	}
	return true;
}

/* --- The environment ------------------------------------------------------------------------- */

/* Reads what is there of [from, from + bytes), page by page. */
static size_t read_safely(const void *from, void *to, size_t bytes)
{
	struct iovec local = { to, bytes };
	struct iovec remote[2] = { { (void *)(uintptr_t)from, bytes }, { NULL, 0 } };
	size_t first = PAGE_BYTES - (uintptr_t)from % PAGE_BYTES;
	long got;

	if (first < bytes) {
		remote[0].iov_len = first;
		remote[1] = (struct iovec){ (char *)(uintptr_t)from + first, bytes - first };
	}
	got = sys_call(SYS_process_vm_readv, sys_getpid(), (long)&local, 1, (long)remote, 2, 0);
	return got > 0 ? (size_t)got : 0;
}

static bool is_preload(const char *variable)
{
	char prefix[PREFIX_BYTES];

	return read_safely(variable, prefix, sizeof(prefix)) == sizeof(prefix) &&
	       memcmp(prefix, preload_variable, sizeof(prefix)) == 0;
}

/* Of an environment that is not the process's own; when it cannot be read, it is the kernel's to
 * refuse. */
static bool foreign_environment_hazard(char *const envp[])
{
	for (size_t from = 0; from < VARIABLES_MAX; from += VARIABLES_AT_ONCE) {
		const char *variables[VARIABLES_AT_ONCE];
		size_t count = read_safely(envp + from, (void *)variables, sizeof(variables)) /
			       sizeof(variables[0]);

		for (size_t i = 0; i < count; i++) {
			char value[PATH_BYTES] = "";

			if (!variables[i])
				return true;
			if (!is_preload(variables[i]))
				continue;
			(void)read_safely(variables[i] + PREFIX_BYTES, value, sizeof(value) - 1);
			return !names_us(value);
		}
		if (count < VARIABLES_AT_ONCE)
			return false;
	}
	return false;
}

bool programs_environment_hazard(char *const envp[])
{
	if (!envp)
		return true;
	if (envp != environ)
		return SYS3(prctl, PR_GET_SECCOMP, 0, 0) == SECCOMP_MODE_DISABLED &&
		       foreign_environment_hazard(envp);
	return !names_us(variable(envp, preload_variable));
}

/* --- Both ------------------------------------------------------------------------------------ */

enum counter programs_hazard(const struct program_start *start)
{
	enum counter hazard;

	if (!find_file_hazard(start, &hazard))
		return COUNTER_COUNT;
	if (hazard == COUNTER_COUNT && depends_on_environment &&
	    programs_environment_hazard(start->envp))
		return COUNTER_unseen_environment;
	return hazard;
}

/* --- Whether it can start at all -------------------------------------------------------------- */

/* These come of the file's name or rights, and exec has them as well. */
static bool is_final(long error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -ELOOP ||
	       error == -ENAMETOOLONG || error == -EFAULT || error == -EBADF;
}

/* 0, or -1: surely not. Also of a file that may be run and not read. */
static int may_start_at(int directory, const char *path, int flags)
{
	struct stat info;

	if (is_final(sys_call(SYS_faccessat2, directory, (long)path, X_OK, AT_EACCESS | flags, 0,
			      0)))
		return -1;
	if (sys_call(SYS_newfstatat, directory, (long)path, (long)&info, flags, 0, 0) == 0 &&
	    !S_ISREG(info.st_mode))
		return -1;
	return 0;
}

static int may_start_here(const char *path)
{
	return may_start_at(AT_FDCWD, path, 0);
}

bool programs_may_start(const struct program_start *start)
{
	char path[PATH_BYTES];

	if (!start->path)
		return may_start_at(start->fd, "", AT_EMPTY_PATH) == 0;
	if (!start->is_searched || strchr(start->path, '/'))
		return may_start_at(start->fd, start->path,
				    start->may_be_empty ? AT_EMPTY_PATH : 0) == 0;
	return look_in_path(start->path, path, may_start_here) == 0;
}
