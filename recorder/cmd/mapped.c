/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a process has mapped as code; libdw reads them, each at its own addresses.
 *
 * A file is opened below /proc/PID/root, so that the process may live in a container. Its debug
 * information is looked for there as well, and in this machine's /usr/lib/debug. A file that was
 * deleted, as after an upgrade, is opened through /proc/PID/map_files or /proc/PID/exe.
 *
 * Reads only. One thread.
 */
#include "mapped.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "procfs.h"

enum { PAGE_BYTES = 4096 };

static const char deleted[] = " (deleted)";

static struct mapped_file *add_file(struct mapped *mapped, const char *path)
{
	struct mapped_file *files =
		realloc(mapped->files, (mapped->count + 1) * sizeof(*mapped->files));
	struct mapped_file *file;

	if (!files)
		return NULL;
	mapped->files = files;
	file = &files[mapped->count];
	*file = (struct mapped_file){ .path = strdup(path) };
	if (!file->path)
		return NULL;
	file->module.path = file->path;
	mapped->count++;
	return file;
}

static bool is_known(const struct mapped *mapped, const char *path)
{
	for (size_t i = 0; i < mapped->count; i++)
		if (strcmp(mapped->files[i].path, path) == 0)
			return true;
	return false;
}

/* "START-END r-xp OFFSET DEVICE INODE   PATH": code of a file, that is not listed yet. */
static bool add_line(struct mapped *mapped, char *line)
{
	uint64_t start, end, offset;
	char rights[5];
	int at = 0;
	struct mapped_file *file;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &start, &end, rights,
		   &offset, &at) != 4 ||
	    at == 0 || rights[2] != 'x' || line[at] != '/' || is_known(mapped, line + at))
		return true;
	file = add_file(mapped, line + at);
	if (!file)
		return false;
	file->start = start;
	file->end = end;
	file->offset = offset;
	return true;
}

static void put_program_first(struct mapped *mapped)
{
	char link[64], path[PAGE_BYTES];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)mapped->pid);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	for (size_t i = 1; i < mapped->count; i++) {
		struct mapped_file file = mapped->files[i];

		if (strcmp(file.path, path) != 0)
			continue;
		memmove(mapped->files + 1, mapped->files, i * sizeof(file));
		mapped->files[0] = file;
		return;
	}
}

static int set_debug_path(struct mapped *mapped)
{
	char root[64] = "";

	if (mapped->pid)
		snprintf(root, sizeof(root), ":/proc/%d/root/usr/lib/debug", (int)mapped->pid);
	if (asprintf(&mapped->debug_path, ":.debug:/usr/lib/debug%s", root) >= 0)
		return 0;
	mapped->debug_path = NULL;
	return -ENOMEM;
}

int mapped_open(struct mapped *mapped, pid_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int result = 0;
	FILE *lines;

	*mapped = (struct mapped){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	lines = fopen(path, "re");
	if (!lines)
		return -errno;
	while (result == 0 && getline(&line, &room, lines) > 0)
		result = add_line(mapped, line) ? 0 : -ENOMEM;
	free(line);
	fclose(lines);
	if (result == 0)
		result = set_debug_path(mapped);
	if (result == 0 && mapped->count == 0)
		result = -ESRCH; /* a zombie has an empty map */
	if (result != 0)
		mapped_close(mapped);
	else
		put_program_first(mapped);
	return result;
}

int mapped_open_file(struct mapped *mapped, const char *path)
{
	int result = 0;

	*mapped = (struct mapped){ 0 };
	if (!add_file(mapped, path) || set_debug_path(mapped) != 0)
		result = -ENOMEM;
	else if (access(path, R_OK) != 0)
		result = -errno;
	else if (!mapped_load(mapped, &mapped->files[0]))
		result = -ENOEXEC;
	if (result != 0)
		mapped_close(mapped);
	return result;
}

void mapped_close(struct mapped *mapped)
{
	for (size_t i = 0; i < mapped->count; i++) {
		free(mapped->files[i].path);
		free(mapped->files[i].functions);
		if (mapped->files[i].dwfl)
			dwfl_end(mapped->files[i].dwfl);
	}
	free(mapped->files);
	free(mapped->debug_path);
	*mapped = (struct mapped){ 0 };
}

bool mapped_is_called(const struct mapped_file *file, const char *name)
{
	size_t length = strlen(file->path), name_length = strlen(name);
	const char *slash = strrchr(file->path, '/');
	const char *base = slash ? slash + 1 : file->path;

	if (name_length == 0 || strcmp(file->path, name) == 0)
		return true;
	if (name_length < length && file->path[length - name_length - 1] == '/' &&
	    strcmp(file->path + length - name_length, name) == 0)
		return true;
	/* "libfoo" and "libfoo.so" for libfoo.so.1, and for libfoo-2.so */
	return strncmp(base, name, name_length) == 0 && base[name_length] &&
	       strchr(".-", base[name_length]) != NULL;
}

/* --- opening --- */

static int open_deleted(const struct mapped *mapped, const struct mapped_file *file)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)mapped->pid,
		 file->start, file->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 || file != &mapped->files[0])
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)mapped->pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_fd(const struct mapped *mapped, const struct mapped_file *file)
{
	size_t length = strlen(file->path), end = sizeof(deleted) - 1;

	if (!mapped->pid)
		return open(file->path, O_RDONLY | O_CLOEXEC);
	if (length > end && strcmp(file->path + length - end, deleted) == 0)
		return open_deleted(mapped, file);
	return procfs_open_seen(mapped->pid, file->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

static void read_build_id(struct mapped_file *file)
{
	const void *bytes;
	ssize_t count = dwelf_elf_gnu_build_id(file->elf, &bytes);

	if (count <= 0 || count > PROBE_BUILD_ID_BYTES)
		return;
	memcpy(file->module.build_id, bytes, (size_t)count);
	file->module.build_id_bytes = (uint8_t)count;
}

/* The segment that was mapped there says how far the file was moved. */
static void read_bias(struct mapped_file *file)
{
	size_t count = 0;
	GElf_Phdr header;

	if (!file->end || elf_getphdrnum(file->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X) ||
		    header.p_offset / PAGE_BYTES > file->offset / PAGE_BYTES ||
		    header.p_offset + header.p_filesz <= file->offset)
			continue;
		file->module.bias = file->start - (header.p_vaddr + file->offset - header.p_offset);
		return;
	}
}

static bool is_of_this_machine(Elf *elf)
{
	GElf_Ehdr header;

	return gelf_getehdr(elf, &header) && header.e_machine == EM_X86_64 &&
	       header.e_ident[EI_CLASS] == ELFCLASS64;
}

static bool report(struct mapped *mapped, struct mapped_file *file, int fd)
{
	GElf_Addr bias;

	mapped->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &mapped->debug_path,
	};
	file->dwfl = dwfl_begin(&mapped->callbacks);
	if (!file->dwfl)
		return false;
	dwfl_report_begin(file->dwfl);
	file->dwfl_module = dwfl_report_elf(file->dwfl, file->path, file->path, fd, 0, true);
	dwfl_report_end(file->dwfl, NULL, NULL);
	if (!file->dwfl_module)
		return false;
	file->elf = dwfl_module_getelf(file->dwfl_module, &bias);
	return file->elf && is_of_this_machine(file->elf);
}

bool mapped_load(struct mapped *mapped, struct mapped_file *file)
{
	struct stat stat;
	int fd;

	if (file->is_opened)
		return file->dwfl != NULL;
	file->is_opened = true;
	fd = open_fd(mapped, file);
	if (fd < 0)
		return false;
	if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) {
		close(fd);
		return false;
	}
	if (report(mapped, file, fd)) {
		read_build_id(file);
		read_bias(file);
		return true;
	}
	if (!file->dwfl_module)
		close(fd);
	if (file->dwfl)
		dwfl_end(file->dwfl);
	file->dwfl = NULL;
	return false;
}

/* --- functions --- */

static bool read_function(Dwfl_Module *module, int i, struct mapped_function *function)
{
	GElf_Addr address;
	GElf_Word section;
	GElf_Sym symbol;
	const char *name =
		dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
	int type;

	if (!name || !name[0] || section == SHN_UNDEF || !address)
		return false;
	type = GELF_ST_TYPE(symbol.st_info);
	*function = (struct mapped_function){ name, address, symbol.st_size, type == STT_GNU_IFUNC,
					      GELF_ST_BIND(symbol.st_info) != STB_LOCAL };
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static int compare_functions(const void *left, const void *right)
{
	const struct mapped_function *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return strcmp(a->name, b->name);
}

size_t mapped_functions(struct mapped *mapped, struct mapped_file *file,
			const struct mapped_function **functions)
{
	int total;

	*functions = NULL;
	if (!mapped_load(mapped, file))
		return 0;
	if (!file->has_functions) {
		file->has_functions = true;
		total = dwfl_module_getsymtab(file->dwfl_module);
		file->functions =
			total > 0 ? calloc((size_t)total, sizeof(*file->functions)) : NULL;
		for (int i = 0; file->functions && i < total; i++)
			file->function_count += read_function(
				file->dwfl_module, i, &file->functions[file->function_count]);
		if (file->function_count > 0)
			qsort(file->functions, file->function_count, sizeof(*file->functions),
			      compare_functions);
	}
	*functions = file->functions;
	return file->function_count;
}

Dwarf *mapped_dwarf(struct mapped *mapped, struct mapped_file *file)
{
	Dwarf_Addr bias = 0;

	if (!mapped_load(mapped, file))
		return NULL;
	if (!file->has_dwarf) {
		file->has_dwarf = true;
		file->dwarf = dwfl_module_getdwarf(file->dwfl_module, &bias);
		/* Only a file that was prelinked after its debug information was made. */
		if (bias != 0)
			file->dwarf = NULL;
	}
	return file->dwarf;
}

bool mapped_offset(struct mapped_file *file, uint64_t address, uint64_t *offset)
{
	size_t count = 0;
	GElf_Phdr header;

	if (!file->elf || elf_getphdrnum(file->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X) || address < header.p_vaddr ||
		    address - header.p_vaddr >= header.p_filesz)
			continue;
		*offset = header.p_offset + (address - header.p_vaddr);
		return true;
	}
	return false;
}
