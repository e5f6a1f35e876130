/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a probe is put where it must not be, or leaves other bytes behind. */
#include "probe_patch.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "probed.h"
#include "recording.h"
#include "suite.h"

static uint8_t before[PROBE_JUMP_BYTES];

static void begin(void)
{
	recording_begin();
	memcpy(before, (const void *)probed, sizeof(before));
}

static bool is_as_before(void)
{
	return memcmp(before, (const void *)probed, sizeof(before)) == 0;
}

static void refused(const struct probe_order *order, const char *part)
{
	const char *why = probe_add(order, 0);

	ck_assert_ptr_nonnull(why);
	ck_assert_msg(strstr(why, part) != NULL, "%s", why);
	ck_assert(is_as_before());
}

START_TEST(a_probe_comes_and_goes)
{
	struct probe_order order = probed_order();

	for (int i = 0; i < 3; i++) {
		ck_assert_ptr_null(probe_add(&order, 0));
		ck_assert_uint_eq(((const uint8_t *)probed)[0], 0xe9);
		ck_assert_uint_eq(((const uint8_t *)probed)[1], 0xcc);
		ck_assert_uint_eq(((const uint8_t *)probed)[3], 0xcc);
		ck_assert_int_eq(probed(41), 42);
		ck_assert_uint_eq(probe_count(), 1);
		ck_assert_str_eq(probe_add(&order, 0),
				 "it is probed already, or what is next to it");
		ck_assert_uint_eq(probe_remove("other", 5), 0);
		ck_assert_uint_eq(probe_remove("probed", 6), 1);
		ck_assert_uint_eq(probe_count(), 0);
		ck_assert(is_as_before());
		ck_assert_int_eq(probed(41), 42);
	}
	/* It is one and the same probe. */
	ck_assert_uint_eq(probe_table[1].address, 0);
	ck_assert_uint_eq(probe_remove("", 0), 0);
}

#define MS UINT64_C(1000000)

START_TEST(a_lease_ends_with_the_probe)
{
	struct probe_order order = probed_order();

	ck_assert_int_eq(probe_lease_tick(1000 * MS), -1);
	ck_assert_ptr_null(probe_add(&order, 20 * MS));
	ck_assert_int_eq(probe_lease_tick(5 * MS), 16);
	probe_lease_renew(30 * MS);
	probe_lease_renew(10 * MS); /* another's is shorter */
	ck_assert_int_eq(probe_lease_tick(30 * MS - 1), 1);
	ck_assert_uint_eq(((const uint8_t *)probed)[0], 0xe9);
	ck_assert_int_eq(probe_lease_tick(30 * MS), -1);
	ck_assert(is_as_before());
	ck_assert_uint_eq(probe_count(), 0);
	ck_assert_int_eq(probed(41), 42);
}

START_TEST(without_a_lease_it_stays)
{
	struct probe_order order = probed_order();

	ck_assert_ptr_null(probe_add(&order, 0));
	probe_lease_renew(10 * MS);
	ck_assert_int_eq(probe_lease_tick(UINT64_MAX), -1);
	probe_lease_leave();
	ck_assert_uint_eq(probe_count(), 1);
	/* The same place, with a lease that nobody waits for. */
	ck_assert_uint_eq(probe_remove("", 0), 1);
	ck_assert_ptr_null(probe_add(&order, 20 * MS));
	probe_lease_leave();
	ck_assert(is_as_before());
	/* And without one again. */
	ck_assert_ptr_null(probe_add(&order, 0));
	ck_assert_int_eq(probe_lease_tick(UINT64_MAX), -1);
	ck_assert_uint_eq(probe_remove("", 0), 1);
}

START_TEST(a_call_is_an_op)
{
	struct probe_order order = probed_order();
	json_t *lines;

	ck_assert_ptr_null(probe_add(&order, 0));
	for (int i = 0; i < 7; i++)
		ck_assert_int_eq(probed(i), i + 1);
	ck_assert_uint_eq(probe_remove("", 0), 1);
	ck_assert_int_eq(probed(1), 2);
	lines = recording_dump(false);
	ck_assert_uint_eq(count_events(lines, "k", "user"), 7);
	ck_assert_str_eq(name_of(lines, event_of(lines, "k", "user"), "c"), "probed");
}

/* --- A thread that is between two instructions, at a fixed address --- */

enum { PAGE = 4096, LOW_CODE = 0x10000000 };

static const uint8_t low_code[] = { 0x48, 0x83, 0xc7, 0x01, /* add $1, %rdi */
				    0x8b, 0x06,             /* mov (%rsi), %eax */
				    0x01, 0xf8,             /* add %edi, %eax */
				    0xc3 };                 /* ret */
static int *unreadable;
static uint32_t state; /* 1: the thread is at the second instruction; 2: it may go on */

/* As any handler of the program's may: it sleeps, and comes back there. */
static void stay(int number)
{
	(void)number;
	store_release(&state, 1);
	while (load_acquire(&state) != 2)
		usleep(100);
}

static void *call_low(void *unused)
{
	int (*function)(long, const int *) = (int (*)(long, const int *))LOW_CODE;

	(void)unused;
	return (void *)(intptr_t)function(40, unreadable);
}

/* Code is to be that of a file. */
static struct probe_order low_order(void)
{
	static const uint8_t back[] = { 0xe9, 0xfb, 0xff, 0xff, 0xff };
	struct probe_order order = probed_order();
	int fd = memfd_create("code", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, PAGE), 0);
	ck_assert_int_eq(pwrite(fd, low_code, sizeof(low_code), 0), sizeof(low_code));
	ck_assert_ptr_eq(mmap((void *)LOW_CODE, PAGE, PROT_READ | PROT_EXEC,
			      MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0),
			 (void *)LOW_CODE);
	close(fd);
	order.address = order.place = LOW_CODE;
	order.mark_count = 1;
	order.marks[0] = (struct probe_mark){ 4, 4 };
	memcpy(order.old, low_code, 6);
	memcpy(order.moved, low_code, 6);
	memcpy(order.moved + 6, back, sizeof(back));
	return order;
}

START_TEST(a_thread_between_instructions_goes_on)
{
	struct probe_order order = low_order();
	pthread_t thread;
	void *result;

	unreadable = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGSEGV, stay);
	pthread_create(&thread, NULL, call_low, NULL);
	while (load_acquire(&state) != 1)
		continue;
	ck_assert_ptr_null(probe_add(&order, 0));
	/* It comes back to a byte that is no instruction, in the midst of the jump. */
	ck_assert_uint_lt(((const uint8_t *)LOW_CODE)[4], 0x80);
	ck_assert_int_eq(mprotect(unreadable, PAGE, PROT_READ), 0);
	store_release(&state, 2);
	pthread_join(thread, &result);
	ck_assert_int_eq((int)(intptr_t)result, 41);
	ck_assert_int_eq((int)(intptr_t)call_low(NULL), 41);
	ck_assert_uint_eq(probe_remove("probed", 6), 1);
	ck_assert_int_eq(memcmp((const void *)LOW_CODE, low_code, sizeof(low_code)), 0);
	ck_assert_uint_eq(count_events(recording_dump(false), "k", "user"), 1);
}

static uint16_t semaphore;

START_TEST(a_place_within_a_function_is_passed)
{
	struct probe_order order = passed_order();

	semaphore = 3;
	order.semaphore = (uint64_t)(uintptr_t)&semaphore;
	ck_assert_ptr_null(probe_add(&order, 0));
	ck_assert_uint_eq(semaphore, 4);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(passed(i), i < 10 ? i : -i);
	ck_assert_uint_eq(probe_remove("passed", 6), 1);
	ck_assert_uint_eq(semaphore, 3);
	ck_assert_int_eq(passed(11), -11);
	ck_assert_uint_eq(count_events(recording_dump(false), "k", "user"), 20);
}

/* A function that begins in the middle of what another probe has moved would be half of it. */
START_TEST(two_jumps_are_not_at_one_place)
{
	struct probe_order order = passed_order(), next = order;

	next.address += 7;
	next.place = next.address;
	ck_assert_ptr_null(probe_add(&order, 0));
	ck_assert_ptr_nonnull(strstr(probe_add(&next, 0), "next to it"));
	ck_assert_uint_eq(probe_remove("", 0), 1);
}

START_TEST(a_semaphore_is_a_variable)
{
	static const uint16_t constant = 7;
	struct probe_order order = passed_order();

	order.semaphore = (uint64_t)(uintptr_t)&constant;

	ck_assert_ptr_nonnull(strstr(probe_add(&order, 0), "semaphore"));
	order.semaphore = 1;
	ck_assert_ptr_nonnull(strstr(probe_add(&order, 0), "semaphore"));
	ck_assert_uint_eq(constant, 7);
	ck_assert_uint_eq(probe_count(), 0);
}

START_TEST(where_it_must_not_be_it_is_not)
{
	struct probe_order order = probed_order();
	struct probe_order other = order;
	void *private = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	other.old[0] ^= 1;
	refused(&other, "not what its file has");
	other = order;
	other.address += 12;
	refused(&other, "cross a border");
	other.address = (uint64_t)(uintptr_t) private;
	refused(&other, "not mapped from a file");
	munmap(private, 4096);
	refused(&other, "no code at that address");
	signal(SIGTRAP, SIG_IGN);
	refused(&order, "handler of SIGTRAP");
	order.mark_count = 0;
	prctl(PR_SET_DUMPABLE, 0);
	refused(&order, "PR_SET_DUMPABLE");
}

START_TEST(bytes_that_are_no_order_are_refused)
{
	const struct probe_order order = probed_order(), moment = passed_order();
	struct probe_order wrong[] = { order, order, order, order, order,  order,  order,
				       order, order, order, order, moment, moment, moment };

	ck_assert(probe_order_is_valid(&order));
	ck_assert(probe_order_is_valid(&moment));
	wrong[0].bytes--;
	wrong[1].version++;
	wrong[2].old_bytes = PROBE_OLD_BYTES + 1;
	wrong[3].old_bytes = PROBE_JUMP_BYTES - 1;
	wrong[4].moved_bytes = PROBE_MOVED_BYTES + 1;
	wrong[5].fixups[0] = 8;
	wrong[6].marks[0].old = PROBE_JUMP_BYTES;
	wrong[7].marks[1].moved = 11;
	wrong[8].mark_count = PROBE_MARKS_MAX + 1;
	memset(wrong[9].name, 'x', sizeof(wrong[9].name));
	wrong[10].place++;
	wrong[11].sight++;
	wrong[12].stub_at = (uint8_t)(moment.moved_bytes - PROBE_STUB_BYTES + 1);
	wrong[13].code.needs_return = true;
	ck_assert(!probe_order_is_valid(&wrong[_i]));
}

SUITE()
{
	FIXTURE(begin, recording_end);
	TEST(a_probe_comes_and_goes);
	TEST(a_lease_ends_with_the_probe);
	TEST(without_a_lease_it_stays);
	TEST(a_call_is_an_op);
	TEST(a_thread_between_instructions_goes_on);
	TEST(a_place_within_a_function_is_passed);
	TEST(two_jumps_are_not_at_one_place);
	TEST(a_semaphore_is_a_variable);
	TEST(where_it_must_not_be_it_is_not);
	LOOP(bytes_that_are_no_order_are_refused, 0, 14);
}
