/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a file. See segment.h. */
#include "segment.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADERS_MAX = 256 };

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool is_code_around(const Elf64_Phdr *header, uint64_t offset)
{
	return header->p_type == PT_LOAD && header->p_flags & PF_X && offset >= header->p_offset &&
	       offset - header->p_offset < header->p_filesz &&
	       header->p_filesz <= SEGMENT_BYTES_MAX;
}

static bool find(int fd, uint64_t offset, Elf64_Phdr *found)
{
	Elf64_Ehdr file;

	if (!read_at(fd, &file, sizeof(file), 0) || memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
	    file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_phentsize != sizeof(*found) ||
	    file.e_phnum > HEADERS_MAX)
		return false;
	for (uint64_t i = 0; i < file.e_phnum; i++) {
		if (!read_at(fd, found, sizeof(*found), file.e_phoff + i * sizeof(*found)))
			return false;
		if (is_code_around(found, offset))
			return true;
	}
	return false;
}

static bool read_all(int fd, const Elf64_Phdr *header, struct segment *segment)
{
	uint8_t *bytes = malloc(header->p_filesz);

	if (!bytes || !read_at(fd, bytes, header->p_filesz, header->p_offset)) {
		free(bytes);
		return false;
	}
	*segment = (struct segment){ bytes, header->p_filesz, header->p_offset };
	return true;
}

bool segment_read(const char *path, uint64_t offset, struct segment *segment)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf64_Phdr header;
	bool is_read = fd >= 0 && find(fd, offset, &header) && read_all(fd, &header, segment);

	if (fd >= 0)
		close(fd);
	return is_read;
}

void segment_free(struct segment *segment)
{
	free((void *)(uintptr_t)segment->bytes);
	*segment = (struct segment){ NULL, 0, 0 };
}
