/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a call of a running program does not lead to the library when it should. Or
 * it leads elsewhere than to libc afterwards.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "target.h"

static char directory[] = "/tmp/wcprof-test-slots.XXXXXX";
static struct sockaddr_un address = { .sun_family = AF_UNIX };

/* As a program that `wcprof attach` loads it into. */
static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	setenv("WCPROF_DIR", directory, 1);
	if (!dlopen(build_path("libwcprof.so"), RTLD_NOW))
		ck_abort_msg("%s", dlerror());
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%d.sock", directory, getpid());
}

static void teardown(void)
{
	unlink(address.sun_path);
	rmdir(directory);
}

/* The control thread may be about to listen. */
static int connect_to_thread(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		sched_yield();
	return fd;
}

static void ask(const char *line, const char *expected)
{
	char answer[512];
	int fd = connect_to_thread();
	ssize_t bytes;

	ck_assert_int_eq(send(fd, line, strlen(line), 0), (ssize_t)strlen(line));
	bytes = recv(fd, answer, sizeof(answer) - 1, 0);
	ck_assert_int_gt(bytes, 0);
	answer[bytes] = '\0';
	ck_assert_msg(strncmp(answer, expected, strlen(expected)) == 0, "%s: %s", line, answer);
	close(fd);
}

/* By the names of the files. */
static const char *leads_to(void *function)
{
	Dl_info info;

	ck_assert_int_ne(dladdr(function, &info), 0);
	return strstr(info.dli_fname, "libwcprof") ? "wcprof" : "libc";
}

static void *volatile table[] = { (void *)pread, (void *)pthread_cond_wait };

/* Compiled code asks the slot anew, as each call does. */
__attribute__((noinline)) static void *read_function(void)
{
	__asm__ volatile("" ::: "memory");
	return (void *)read;
}

START_TEST(slots_lead_here_and_back)
{
	const void *before[] = { read_function(), table[0], table[1] };

	for (int i = 0; i < 3; i++) {
		ask("ATTACH\n", "OK ");
		ck_assert_str_eq(leads_to(read_function()), "wcprof");
		ck_assert_str_eq(leads_to(table[0]), "wcprof");
		ck_assert_str_eq(leads_to(table[1]), "wcprof");
		ck_assert_ptr_ne(table[0], table[1]);
	}
	ask("DETACH\n", "OK ");
	ck_assert_ptr_eq(read_function(), before[0]);
	ck_assert_ptr_eq(table[0], before[1]);
	ck_assert_ptr_eq(table[1], before[2]);
}
END_TEST

static atomic_bool ends;
static atomic_long wrong;

static void *call(void *unused)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char byte;

	while (!ends)
		wrong += read(fd, &byte, 1) != 1;
	close(fd);
	return unused;
}

/* Whoever calls meanwhile gets there by either way. */
START_TEST(calls_go_on_meanwhile)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, call, NULL), 0);
	for (int i = 0; i < 100; i++)
		ask("ATTACH\n", "OK ");
	ask("DETACH\n", "OK ");
	ends = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(wrong, 0);
}
END_TEST

static bool leads_here(void *const *slot)
{
	Dl_info info;

	return dladdr(*slot, &info) && strstr(info.dli_fname, "libwcprof");
}

/* A slot of the library's that leads to us; NULL: there is none. */
static void **slot_here(void *library)
{
	const struct link_map *map = NULL;
	const ElfW(Rela) *slots = NULL;
	size_t count = 0;

	ck_assert_int_eq(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_JMPREL)
			slots = (const void *)entry->d_un.d_ptr;
		if (entry->d_tag == DT_PLTRELSZ)
			count = entry->d_un.d_val / sizeof(*slots);
	}
	for (size_t i = 0; i < count; i++) {
		void **slot = (void **)(map->l_addr + slots[i].r_offset);

		if (leads_here(slot))
			return slot;
	}
	return NULL;
}

/* Writes the C library's own function there. */
static void bind_late(void **slot)
{
	void *library = dlopen("libc.so.6", RTLD_LAZY);
	void *page = (void *)((uintptr_t)slot & -(uintptr_t)4096);
	Dl_info info;

	ck_assert(dladdr(*slot, &info) && info.dli_sname);
	ck_assert_int_eq(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
	*slot = dlsym(library, info.dli_sname);
	ck_assert_ptr_nonnull(*slot);
}

/* While recording is on; bound already, or not yet. */
START_TEST(later_objects_are_found)
{
	void *library, **slot;

	ask("ATTACH\n", "OK ");
	ask("ENABLE\n", "OK ");
	library = dlopen("libz.so.1", _i ? RTLD_NOW : RTLD_LAZY);
	ck_assert_ptr_nonnull(library);
	while (!slot_here(library))
		sched_yield();
	/* The loader may get to a slot only now. */
	slot = slot_here(library);
	bind_late(slot);
	while (!leads_here(slot))
		sched_yield();
	ask("DISABLE\n", "OK ");
	ask("RESET\n", "OK ");
	ask("DETACH\n", "OK ");
	ck_assert_ptr_null(slot_here(library));
}
END_TEST

static void *volatile copied;

static unsigned long count_copies(void)
{
	static const char key[] = "\"unredirected_pointers\":";
	char answer[512] = "";
	int fd = connect_to_thread();
	const char *found;

	ck_assert_int_eq(send(fd, "ATTACH\n", 7, 0), 7);
	ck_assert_int_gt(recv(fd, answer, sizeof(answer) - 1, 0), 0);
	close(fd);
	found = strstr(answer, key);
	ck_assert_ptr_nonnull(found);
	return strtoul(found + sizeof(key) - 1, NULL, 10);
}

/* The loader has not written it: it stays as it is. */
START_TEST(copied_pointers_are_counted)
{
	void *function = read_function();
	unsigned long before = count_copies();

	copied = function;
	ck_assert_uint_eq(count_copies(), before + 1);
	ask("DETACH\n", "OK ");
	ck_assert_ptr_eq(copied, function);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(slots_lead_here_and_back);
	TEST(calls_go_on_meanwhile);
	LOOP(later_objects_are_found, 0, 2);
	TEST(copied_pointers_are_counted);
}
