/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries that a program is linked to, as its own loader lists them, and system calls in
 * their code.
 *
 * The program itself does not run. One thread.
 */
#include "libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inlined.h"

extern char **environ;

/* A line is "	libgomp.so.1 => /lib/x86_64-linux-gnu/libgomp.so.1 (0x...)". */
static void read_line(char *line, void (*see)(void *, const char *), void *context)
{
	char *path = strchr(line, '/');
	char *end = strstr(line, " (0x");

	if (!path || !end || end < path)
		return;
	*end = '\0';
	see(context, path);
}

static int ask_loader(const struct executable *executable, int to, pid_t *pid)
{
	char *arguments[] = { (char *)executable->interpreter, (char *)"--list",
			      (char *)executable->path, NULL };
	posix_spawn_file_actions_t actions;
	int error;

	error = posix_spawn_file_actions_init(&actions);
	if (error != 0)
		return -error;
	error = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
							 O_WRONLY, 0);
	if (error == 0)
		error = posix_spawn(pid, executable->interpreter, &actions, NULL, arguments,
				    environ);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

int libraries_list(const struct executable *executable,
		   void (*see)(void *context, const char *path), void *context)
{
	char *line = NULL;
	size_t room = 0;
	int ends[2], result;
	FILE *lines;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	result = ask_loader(executable, ends[1], &pid);
	close(ends[1]);
	if (result != 0) {
		close(ends[0]);
		return result;
	}
	lines = fdopen(ends[0], "r");
	while (lines && getline(&line, &room, lines) > 0)
		read_line(line, see, context);
	free(line);
	if (lines)
		fclose(lines);
	else
		close(ends[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return lines ? 0 : -ENOMEM;
}

static void count_segments(Elf *elf, struct inlined_tally *tally)
{
	size_t count = 0, bytes = 0;
	const char *file = elf_rawfile(elf, &bytes);
	GElf_Phdr phdr;

	if (!file || elf_getphdrnum(elf, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
		    phdr.p_flags & PF_X && phdr.p_offset <= bytes &&
		    phdr.p_filesz <= bytes - phdr.p_offset)
			inlined_count(tally, (const uint8_t *)file + phdr.p_offset, phdr.p_filesz,
				      0, phdr.p_filesz);
}

uint32_t libraries_syscalls(const char *path)
{
	int fd = inlined_is_exempt(path) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	struct inlined_tally tally = { 0 };
	Elf *elf;

	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		count_segments(elf, &tally);
	elf_end(elf);
	close(fd);
	return inlined_result(&tally);
}
