/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork() of other threads waits while the library is loaded. See attach_forks.h. One thread.
 */
#include "attach_forks.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_back.h"
#include "tasks.h"

enum {
	PAGE_BYTES = 4096,
	COUNT_OFFSET = 4,
	MARK_OFFSET = 8,
	REGISTERED = 0x666f726b,
	LOOK_MS = 1,
	AWAIT_MS = 1000,       /* for forks to be done; one may wait for what this process does */
	FORK_CPU_NS = 10000000 /* that no fork takes, but of a very large process */
};

/* Places in the code; then where distances to a word stand, and behind which instructions. */
enum { STORE = 0, ENTER = 3, PREPARE = 15, PARENT = 76, CHILD = 84 };

static const uint8_t code[] = {
	0x89, 0x37, 0xc3,                               /* mov %esi, (%rdi); ret */
	0xc7, 0x05, 0,    0,    0,    0,    1, 0, 0, 0, /* movl $1, word(%rip) */
	0xff, 0xe0,                                     /* jmp *%rax */
	0xf0, 0xff, 0x05, 0,    0,    0,    0,          /* lock incl count(%rip) */
	0x41, 0xb8, 0xe8, 0x03, 0x00, 0x00,             /* mov $1000, %r8d */
	0x83, 0x3d, 0,    0,    0,    0,    0,          /* 1: cmpl $0, word(%rip) */
	0x74, 0x26,                                     /* je 2f */
	0x68, 0x40, 0x42, 0x0f, 0x00,                   /* push $1000000 */
	0x6a, 0x00,                                     /* push $0 */
	0x48, 0x89, 0xe7,                               /* mov %rsp, %rdi */
	0x31, 0xf6,                                     /* xor %esi, %esi */
	0xb8, 0x23, 0x00, 0x00, 0x00,                   /* mov $SYS_nanosleep, %eax */
	0x0f, 0x05,                                     /* syscall */
	0x48, 0x83, 0xc4, 0x10,                         /* add $16, %rsp */
	0x41, 0xff, 0xc8,                               /* dec %r8d */
	0x75, 0xdb,                                     /* jne 1b */
	0xc7, 0x05, 0,    0,    0,    0,    0, 0, 0, 0, /* movl $0, word(%rip) */
	0xc3,                                           /* 2: ret */
	0xf0, 0xff, 0x0d, 0,    0,    0,    0,          /* lock decl count(%rip) */
	0xc3,                                           /* ret */
	0xc7, 0x05, 0,    0,    0,    0,    0, 0, 0, 0, /* movl $0, count(%rip) */
	0xc3,                                           /* ret */
};

static const struct {
	size_t at;
	size_t from;
	bool is_count;
} distances[] = { { 5, 13, false },  { 18, 22, true }, { 30, 35, false },
		  { 67, 75, false }, { 79, 83, true }, { 86, 94, true } };

static void put_distance(uint8_t *bytes, size_t offset, uint64_t from, uint64_t to)
{
	int32_t distance = (int32_t)(to - from);

	memcpy(bytes + offset, &distance, sizeof(distance));
}

static uint64_t bytes_left(uint64_t at)
{
	return (PAGE_BYTES - at % PAGE_BYTES) % PAGE_BYTES;
}

void attach_forks_prepare(struct attach_forks *forks, const struct attach_symbols *libc, int memory)
{
	uint64_t at = libc->code_end + ATTACH_CODE_BYTES;
	uint64_t word = (libc->data_end + 7) & -UINT64_C(8);
	uint8_t bytes[sizeof(code)], there[sizeof(code)];
	uint32_t mark = 0;

	*forks = (struct attach_forks){ 0 };
	memcpy(bytes, code, sizeof(code));
	for (size_t i = 0; i < sizeof(distances) / sizeof(*distances); i++)
		put_distance(bytes, distances[i].at, at + distances[i].from,
			     distances[i].is_count ? word + COUNT_OFFSET : word);
	if (bytes_left(libc->code_end) < ATTACH_CODE_BYTES + sizeof(code) ||
	    bytes_left(libc->data_end) < 2 * sizeof(word) ||
	    pread(memory, there, sizeof(there), (off_t)at) != sizeof(there) ||
	    pread(memory, &mark, sizeof(mark), (off_t)(word + MARK_OFFSET)) != sizeof(mark))
		return;
	bool is_same = memcmp(there, bytes, sizeof(bytes)) == 0;
	/* Those of another version are called by any fork. */
	if (!is_same && (mark == REGISTERED ||
			 pwrite(memory, bytes, sizeof(bytes), (off_t)at) != sizeof(bytes)))
		return;
	*forks = (struct attach_forks){ .prepare = at + PREPARE,
					.parent = at + PARENT,
					.child = at + CHILD,
					.enter = at + ENTER,
					.store = at + STORE,
					.word = word,
					.count = word + COUNT_OFFSET,
					.mark = word + MARK_OFFSET,
					.is_registered = is_same && mark == REGISTERED };
}

void attach_forks_note(struct attach_forks *forks, int memory)
{
	const uint32_t mark = REGISTERED;

	forks->is_registered =
		pwrite(memory, &mark, sizeof(mark), (off_t)forks->mark) == sizeof(mark);
}

/* --- Those that are under way ----------------------------------------------------------------- */

/* Threads that are held but for the caller go on. */
static bool may_go_on(struct attach_threads *threads, uint64_t end_ms)
{
	struct attach_thread *held = attach_threads_wait(threads, LOOK_MS);

	if (held && held->tid != threads->caller)
		attach_threads_go(threads, held);
	return !attach_threads_are_over(threads) && attach_now_ms() < end_ms;
}

static bool makes_process(int32_t number)
{
	return number == SYS_clone || number == SYS_clone3 || number == SYS_fork;
}

/* One that runs is, once it has run for long enough. */
static bool is_past_fork(const struct attach_threads *threads, struct attach_thread *thread)
{
	uint32_t pid = (uint32_t)threads->pid, tid = (uint32_t)thread->tid;
	struct task_call call;

	if (!thread->is_past_fork)
		thread->is_past_fork =
			thread->tid == threads->caller ||
			(task_read_call(pid, tid, &call) && !makes_process(call.number)) ||
			task_ran_ns(pid, tid) - thread->ran_ns >= FORK_CPU_NS;
	return thread->is_past_fork;
}

void attach_forks_await_begun(struct attach_threads *threads)
{
	uint64_t end_ms = attach_now_ms() + AWAIT_MS;
	size_t left;

	for (size_t i = 0; i < threads->count; i++)
		threads->all[i].ran_ns =
			task_ran_ns((uint32_t)threads->pid, (uint32_t)threads->all[i].tid);
	do {
		left = threads->count;
		for (size_t i = 0; i < threads->count; i++)
			left -= is_past_fork(threads, &threads->all[i]);
	} while (left > 0 && may_go_on(threads, end_ms));
}

void attach_forks_await_counted(const struct attach_forks *forks, struct attach_threads *threads)
{
	uint64_t end_ms = attach_now_ms() + AWAIT_MS;
	uint32_t count;

	do {
		count = 0;
		(void)!pread(threads->memory, &count, sizeof(count), (off_t)forks->count);
	} while (count > 0 && may_go_on(threads, end_ms));
}
