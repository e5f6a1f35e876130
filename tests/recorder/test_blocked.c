/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, threads are said to wait for what they do not wait for, or for somebody else. Or a
 * deadlock is missed, or called where there is none. */
#include "blocked.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "recording.h"
#include "stack.h"
#include "suite.h"

enum { TEXT_BYTES = 1 << 20 };

static pthread_mutex_t locks[3] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				    PTHREAD_MUTEX_INITIALIZER };
static uint32_t tids[3], stop;
static pthread_barrier_t all_hold;

/* Of this process, or of the arena's. */
static void read_list(struct blocked_list *list, const struct arena *arena)
{
	ck_assert_int_eq(blocked_read(list, (uint32_t)getpid(), arena), 0);
}

static const struct blocked_thread *find(const struct blocked_list *list, uint32_t tid)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->threads[i].tid == tid)
			return &list->threads[i];
	return NULL;
}

/* Locks its own and then the next one's, for ever; as a hook does when recording is on. */
static void *take_two(void *argument)
{
	uintptr_t index = (uintptr_t)argument;
	pthread_mutex_t *other = &locks[(index + 1) % 3];
	struct self *self;

	pthread_mutex_lock(&locks[index]);
	store_release(&tids[index], (uint32_t)syscall(SYS_gettid));
	pthread_barrier_wait(&all_hold);
	self = self_enter();
	if (self)
		(void)wait_begin(self, REASON_MUTEX, CALL_LOCK, other, 0, 0,
				 __builtin_frame_address(0));
	self_leave(self);
	pthread_mutex_lock(other);
	return argument;
}

/* Three threads that wait for each other; they end with the process. */
static void make_circle(void)
{
	pthread_t thread;

	stack_warm_up();
	pthread_barrier_init(&all_hold, NULL, 4);
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&thread, NULL, take_two, (void *)i);
	pthread_barrier_wait(&all_hold);
	for (int i = 0; i < 3; i++) {
		struct task_call call;

		while (!task_read_call((uint32_t)getpid(), tids[i], &call) ||
		       call.number != SYS_futex ||
		       call.arguments[0] != (uintptr_t)&locks[(i + 1) % 3])
			continue;
	}
}

static void check_circle(const struct arena *arena, bool has_time)
{
	struct blocked_list list;
	uint32_t circles = 0;

	read_list(&list, arena);
	for (uint32_t i = 0; i < 3; i++) {
		const struct blocked_thread *thread = find(&list, tids[i]);

		ck_assert_ptr_nonnull(thread);
		ck_assert_int_eq(thread->state, 'S');
		ck_assert_int_eq(thread->on.type, RECORD_WAIT);
		ck_assert_int_eq(thread->on.what, REASON_MUTEX);
		ck_assert_uint_eq(thread->on.value, (uintptr_t)&locks[(i + 1) % 3]);
		ck_assert_uint_eq(thread->holder, tids[(i + 1) % 3]);
		ck_assert_int_eq(thread->wait_ns > 0, has_time);
		ck_assert_uint_gt(thread->frame_count, 0);
	}
	for (uint32_t i = 0; i < list.count; i++) {
		uint32_t found = blocked_circle(&list, i);

		circles += found > 0;
		ck_assert(found == 0 || found == 3);
		for (uint32_t k = 0; k < found; k++)
			ck_assert_uint_eq(list.threads[list.members[k]].holder,
					  list.threads[list.members[(k + 1) % 3]].tid);
	}
	ck_assert_uint_eq(circles, 1);
	blocked_free(&list);
}

START_TEST(a_circle_that_was_never_recorded)
{
	make_circle();
	check_circle(NULL, false);
}
END_TEST

START_TEST(a_circle_that_is_recorded)
{
	recording_begin();
	make_circle();
	check_circle(recorder_arena, true);
	recording_end();
}
END_TEST

static json_t *put(const struct blocked_list *list)
{
	static char bytes[TEXT_BYTES];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	text_put_literal(&text, "{");
	blocked_put(&text, list);
	text_put_literal(&text, "}");
	ck_assert(text_end(&text));
	return recording_keep(json_loads(bytes, 0, NULL));
}

START_TEST(the_list_as_json)
{
	struct blocked_list list;
	json_t *object, *thread, *circles;
	uint32_t seen = 0;
	size_t i;

	recording_begin();
	make_circle();
	read_list(&list, recorder_arena);
	object = put(&list);
	circles = json_object_get(object, "deadlocks");
	ck_assert_uint_eq(json_array_size(circles), 1);
	ck_assert_uint_eq(json_array_size(json_array_get(circles, 0)), 3);
	json_array_foreach(json_object_get(object, "threads"), i, thread)
	{
		if (number_of(thread, "tid") != tids[0])
			continue;
		seen++;
		ck_assert_str_eq(word_of(thread, "call"), "pthread_mutex_lock");
		ck_assert_str_eq(word_of(thread, "reason"), "mutex");
		ck_assert_str_eq(word_of(thread, "system_call"), "futex");
		ck_assert_int_eq(number_of(thread, "address"), (json_int_t)(uintptr_t)&locks[1]);
		ck_assert_int_eq(number_of(thread, "holder"), tids[1]);
		ck_assert_int_gt(number_of(thread, "wait_ns"), 0);
		ck_assert_uint_gt(json_array_size(json_object_get(thread, "stack")), 0);
	}
	ck_assert_uint_eq(seen, 1);
	blocked_free(&list);
	recording_end();
}
END_TEST

START_TEST(an_op_in_a_descriptor)
{
	struct blocked_list list;
	uint64_t op;
	struct self *self;
	json_t *thread;

	recording_begin();
	self = self_enter();
	op = op_begin(self, KIND_IO, CALL_READ, 0, 7, 0, __builtin_frame_address(0));
	self_leave(self);
	read_list(&list, recorder_arena);
	thread = json_array_get(json_object_get(put(&list), "threads"), 0);
	ck_assert_int_eq(number_of(thread, "tid"), getpid());
	ck_assert_str_eq(word_of(thread, "call"), "read");
	ck_assert_int_eq(number_of(thread, "fd"), 7);
	ck_assert_ptr_null(json_object_get(thread, "reason"));
	blocked_free(&list);
	self = self_enter();
	op_end(self, op, OUTCOME_OK, 1);
	self_leave(self);
	recording_end();
}
END_TEST

/* Each takes all locks in the same order, so that none of them ever waits in a circle. */
static void *take_all(void *argument)
{
	store_release(&tids[(uintptr_t)argument], (uint32_t)syscall(SYS_gettid));
	while (!load_relaxed(&stop)) {
		for (int i = 0; i < 3; i++) {
			struct self *self = self_enter();
			uint64_t wait = self ? wait_begin(self, REASON_MUTEX, CALL_LOCK, &locks[i],
							  0, 0, __builtin_frame_address(0))
					     : 0;

			self_leave(self);
			pthread_mutex_lock(&locks[i]);
			self = self_enter();
			if (self)
				wait_end(self, wait, 0, 0);
			self_leave(self);
		}
		for (int i = 3; i-- > 0;)
			pthread_mutex_unlock(&locks[i]);
	}
	thread_end();
	return argument;
}

START_TEST(threads_that_go_on_are_in_no_circle)
{
	struct blocked_list list;
	pthread_t threads[3];

	recording_begin();
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, take_all, (void *)i);
	for (int i = 0; i < 1000; i++) {
		read_list(&list, i % 2 ? recorder_arena : NULL);
		for (uint32_t k = 0; k < list.count; k++)
			ck_assert_uint_eq(blocked_circle(&list, k), 0);
		blocked_free(&list);
	}
	store_relaxed(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	recording_end();
}
END_TEST

/* A finding of one look need not be so at the next: then it is no circle. */
START_TEST(a_circle_must_stand_a_second_look)
{
	struct blocked_list list;
	uint32_t first = 0;

	recording_begin();
	make_circle();
	read_list(&list, recorder_arena);
	while (list.threads[first].holder == 0)
		first++;
	ck_assert_uint_eq(blocked_circle(&list, first), 3);
	list.threads[list.members[1]].on.start++;
	ck_assert_uint_eq(blocked_circle(&list, first), 0);
	blocked_free(&list);
	read_list(&list, NULL);
	ck_assert_uint_eq(blocked_circle(&list, first), 3);
	list.threads[list.members[2]].argument++;
	ck_assert_uint_eq(blocked_circle(&list, first), 0);
	list.threads[list.members[2]].argument--;
	ck_assert_uint_eq(blocked_circle(&list, first), 3);
	list.threads[list.members[2]].switches--;
	ck_assert_uint_eq(blocked_circle(&list, first), 0);
	blocked_free(&list);
	recording_end();
}
END_TEST

static sem_t end;

/* Has the lock, and is about to say so when something else stops it. */
static void *stop_on_the_way(void *argument)
{
	struct self *self;

	pthread_mutex_lock(&locks[0]);
	self = self_enter();
	(void)wait_begin(self, REASON_MUTEX, CALL_LOCK, &locks[0], 0, 0,
			 __builtin_frame_address(0));
	self_leave(self);
	store_release(&tids[0], (uint32_t)syscall(SYS_gettid));
	sem_wait(&end);
	return argument;
}

START_TEST(a_thread_asleep_elsewhere_waits_for_no_lock)
{
	struct blocked_list list;
	const struct blocked_thread *found;
	struct task_call call;
	pthread_t thread;

	recording_begin();
	sem_init(&end, 0, 0);
	pthread_create(&thread, NULL, stop_on_the_way, NULL);
	while (load_acquire(&tids[0]) == 0 || !task_read_call((uint32_t)getpid(), tids[0], &call) ||
	       call.number != SYS_futex)
		continue;
	read_list(&list, recorder_arena);
	found = find(&list, tids[0]);
	ck_assert_uint_eq(found->holder, tids[0]);
	ck_assert_uint_eq(blocked_circle(&list, (uint32_t)(found - list.threads)), 0);
	blocked_free(&list);
	sem_post(&end);
	pthread_join(thread, NULL);
	recording_end();
}
END_TEST

static void until_it_waits_for(const pthread_mutex_t *lock)
{
	struct task_call call;

	while (load_acquire(&tids[0]) == 0 || !task_read_call((uint32_t)getpid(), tids[0], &call) ||
	       call.number != SYS_futex || call.arguments[0] != (uintptr_t)lock)
		continue;
}

/* Waits for the lock twice. */
static void *take_one_twice(void *unused)
{
	store_release(&tids[0], (uint32_t)syscall(SYS_gettid));
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&locks[0]);
		pthread_mutex_unlock(&locks[0]);
		pthread_barrier_wait(&all_hold);
		pthread_barrier_wait(&all_hold);
	}
	return unused;
}

/* It has had the lock when its owner was read, and waits for it again at the second look. */
START_TEST(a_thread_that_waits_again_has_moved)
{
	struct blocked_list list;
	uint32_t index;
	pthread_t thread;

	stack_warm_up();
	pthread_barrier_init(&all_hold, NULL, 2);
	pthread_mutex_lock(&locks[0]);
	pthread_create(&thread, NULL, take_one_twice, NULL);
	until_it_waits_for(&locks[0]);
	read_list(&list, NULL);
	index = (uint32_t)(find(&list, tids[0]) - list.threads);
	ck_assert_int_eq(list.threads[index].on.type, RECORD_WAIT);
	list.threads[index].holder = tids[0];
	locks[0].__data.__owner = (int)tids[0];
	ck_assert_uint_eq(blocked_circle(&list, index), 1);
	locks[0].__data.__owner = getpid();
	pthread_mutex_unlock(&locks[0]);
	pthread_barrier_wait(&all_hold);
	pthread_mutex_lock(&locks[0]);
	pthread_barrier_wait(&all_hold);
	until_it_waits_for(&locks[0]);
	locks[0].__data.__owner = (int)tids[0];
	ck_assert_uint_eq(blocked_circle(&list, index), 0);
	locks[0].__data.__owner = getpid();
	pthread_mutex_unlock(&locks[0]);
	pthread_barrier_wait(&all_hold);
	pthread_barrier_wait(&all_hold);
	pthread_join(thread, NULL);
	blocked_free(&list);
}
END_TEST

START_TEST(there_is_no_such_process)
{
	struct blocked_list list;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	ck_assert_int_lt(blocked_read(&list, (uint32_t)child, NULL), 0);
	blocked_free(&list);
}
END_TEST

SUITE()
{
	TEST(a_circle_that_was_never_recorded);
	TEST(a_circle_that_is_recorded);
	TEST(the_list_as_json);
	TEST(an_op_in_a_descriptor);
	TEST(threads_that_go_on_are_in_no_circle);
	TEST(a_circle_must_stand_a_second_look);
	TEST(a_thread_asleep_elsewhere_waits_for_no_lock);
	TEST(a_thread_that_waits_again_has_moved);
	TEST(there_is_no_such_process);
}
