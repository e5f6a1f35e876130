/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's file: found in PATH as a shell would, and read with libelf; of a script, its
 * interpreter's.
 *
 * Reads only. One thread.
 */
#include "executable.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int find_in_path(const char *program, char *to, size_t size)
{
	const char *at = getenv("PATH");

	if (strchr(program, '/')) {
		snprintf(to, size, "%s", program);
		return access(to, X_OK) == 0 ? 0 : -errno;
	}
	for (at = at ? at : "/usr/bin:/bin"; at;
	     at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		int length = (int)strcspn(at, ":");

		snprintf(to, size, "%.*s%s%s", length, at, length ? "/" : "./", program);
		if (access(to, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

/* "#! /usr/bin/python3 -u": its first word; false: no script. */
static bool read_script(int fd, char *interpreter, size_t size)
{
	char line[512];
	ssize_t bytes = pread(fd, line, sizeof(line) - 1, 0);
	char *at = line + 2;

	if (bytes < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[bytes] = '\0';
	at += strspn(at, " \t");
	snprintf(interpreter, size, "%.*s", (int)strcspn(at, " \t\n"), at);
	return true;
}

static void read_program_headers(Elf *elf, struct executable *executable)
{
	size_t count = 0, file_bytes;
	const char *file = elf_rawfile(elf, &file_bytes);
	GElf_Phdr header;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_INTERP || !file ||
		    header.p_offset >= file_bytes)
			continue;
		snprintf(executable->interpreter, sizeof(executable->interpreter), "%.*s",
			 (int)strnlen(file + header.p_offset, file_bytes - header.p_offset),
			 file + header.p_offset);
	}
}

static void read_sections(Elf *elf, struct executable *executable)
{
	size_t names = 0;
	GElf_Shdr header;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return;
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section;
	     section = elf_nextscn(elf, section)) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (name &&
		    (strcmp(name, ".go.buildinfo") == 0 || strcmp(name, ".note.go.buildid") == 0))
			executable->is_go = true;
	}
}

static void read_elf(int fd, struct executable *executable)
{
	Elf *elf;
	GElf_Ehdr header;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	executable->is_elf = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header);
	if (executable->is_elf) {
		executable->is_x86_64 =
			header.e_machine == EM_X86_64 && header.e_ident[EI_CLASS] == ELFCLASS64;
		read_program_headers(elf, executable);
		read_sections(elf, executable);
	}
	elf_end(elf);
}

static void read_rights(int fd, struct executable *executable)
{
	struct stat stat;

	executable->gains_rights =
		(fstat(fd, &stat) == 0 && (stat.st_mode & (S_ISUID | S_ISGID)) != 0) ||
		fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

int executable_read(struct executable *executable, const char *program)
{
	char interpreter[512];
	int fd, result;

	memset(executable, 0, sizeof(*executable));
	result = find_in_path(program, executable->path, sizeof(executable->path));
	if (result != 0)
		return result;
	fd = open(executable->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (read_script(fd, interpreter, sizeof(interpreter))) {
		close(fd);
		memcpy(executable->script, executable->path, sizeof(executable->script));
		snprintf(executable->path, sizeof(executable->path), "%s", interpreter);
		fd = open(executable->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
	}
	read_elf(fd, executable);
	read_rights(fd, executable);
	close(fd);
	return 0;
}

bool executable_library(char *path, size_t size)
{
	static const char *const places[] = { "libwcprof.so", "../lib/wcprof/libwcprof.so" };
	char self[EXECUTABLE_PATH_BYTES / 2], *real;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[length > 0 ? length : 0] = '\0';
	if (length <= 0 || !strrchr(self, '/'))
		return false;
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, size, "%s/%s", self, places[i]);
		if (access(path, R_OK) != 0)
			continue;
		/* As others are told it, in one way. */
		real = realpath(path, NULL);
		if (real)
			snprintf(path, size, "%s", real);
		free(real);
		return true;
	}
	return false;
}
