/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, frames of Python programs are wrong, or read where they may not be.
 *
 * The test has an interpreter's data of its own, made by hand.
 */
#include "python.h"

#include <sys/mman.h>

#include "python_copied.h"
#include "python_layout.h"
#include "recording.h"
#include "stack.h"
#include "stacks.h"
#include "suite.h"

/* The names that python.c looks for. */
uint32_t Py_Version;
_Alignas(8) char _PyRuntime[1024], PyCode_Type[64], PyType_Type[64];

static _Alignas(8) char state[512];
static _Alignas(8) char name[128], file[128];
static _Alignas(8) char lines[64];
static _Alignas(8) char inner_code[256], outer_code[256];
static _Alignas(8) char inner[128], outer[128];
static pthread_key_t key;

static void put(void *object, size_t offset, uint64_t value)
{
	memcpy((char *)object + offset, &value, sizeof(value));
}

static void put_half(void *object, size_t offset, uint32_t value)
{
	memcpy((char *)object + offset, &value, sizeof(value));
}

static uint64_t at(const void *object)
{
	return (uint64_t)(uintptr_t)object;
}

static void make_text(char *text, const char *ascii, uint64_t hash)
{
	put(text, PYTHON_TEXT_LENGTH, strlen(ascii));
	put(text, PYTHON_TEXT_HASH, hash);
	put_half(text, PYTHON_TEXT_STATE,
		 1 << PYTHON_TEXT_UNIT_SHIFT | PYTHON_TEXT_IS_COMPACT | PYTHON_TEXT_IS_ASCII);
	strcpy(text + PYTHON_TEXT_ASCII, ascii);
}

static void make_code(char *code)
{
	put(code, 0, 1); /* references */
	put(code, PYTHON_OBJECT_TYPE, at(PyCode_Type));
	put_half(code, PYTHON_CODE_LINE, 10);
	put(code, PYTHON_CODE_NAME, at(name));
	put(code, PYTHON_CODE_FILE, at(file));
	put(code, PYTHON_CODE_LINES, at(lines));
}

static void make_frame(char *frame, const char *code, uint64_t instruction, const char *caller)
{
	put(frame, PYTHON_FRAME_CODE, at(code));
	put(frame, PYTHON_FRAME_CALLER, at(caller));
	put(frame, PYTHON_FRAME_INSTRUCTION, at(code) + PYTHON_CODE_INSTRUCTIONS + instruction);
	put_half(frame, PYTHON_FRAME_OPERANDS, UINT32_MAX);
	frame[PYTHON_FRAME_IS_FIRST] = caller == NULL;
}

/* Two instructions of line 10, one each of 12, of 11, and of none. */
static void make_lines(void)
{
	static const unsigned char table[] = { 0x81, 0, 0x80 | 12 << 3, 0, 0, 0x80 | 14 << 3, 3, 0,
					       0,    0, 0x80 | 15 << 3 };

	put(lines, PYTHON_BYTES_SIZE, sizeof(table));
	memcpy(lines + PYTHON_BYTES_DATA, table, sizeof(table));
}

static void make_interpreter(void)
{
	Py_Version = UINT32_C(0x030b02f0);
	put(PyCode_Type, PYTHON_OBJECT_TYPE, at(PyType_Type));
	put(PyCode_Type, PYTHON_TYPE_SIZE, PYTHON_CODE_INSTRUCTIONS);
	pthread_key_create(&key, NULL);
	pthread_setspecific(key, state);
	put(_PyRuntime, PYTHON_RUNTIME_THREAD, (uint64_t)pthread_self());
	put(_PyRuntime, PYTHON_RUNTIME_KEY, (uint64_t)key << 32 | 1);
	put(state, PYTHON_STATE_THREAD, (uint64_t)pthread_self());
	make_text(name, "Page.render", 77);
	make_text(file, "/srv/my app.py", 78);
	make_lines();
	make_code(inner_code);
	make_code(outer_code);
	make_frame(outer, outer_code, 0, NULL);
	make_frame(inner, inner_code, 4, outer);
}

static void setup(void)
{
	setenv("WCPROF_STACK_DEPTH", "32", 1);
	make_interpreter();
	recording_begin();
}

/* Runs `inner` as an interpreter's native frame does, and calls what reads it. */
static __attribute__((noinline)) uint64_t read_frame(uint64_t frame, struct python_frames *frames)
{
	uint64_t entry[3] = { 0, frame, 0 };
	uint64_t digest;

	put(state, PYTHON_STATE_ENTRY, at(entry));
	digest = python_frames(at(entry) - 64, 32, frames);
	__asm__ volatile("" : : "r"(entry) : "memory");
	return digest;
}

static uint64_t read_inside(struct python_frames *frames)
{
	return read_frame(at(inner), frames);
}

static uint64_t digest_now(void)
{
	struct python_frames frames;

	return read_inside(&frames);
}

static const char *text_of(const struct python_frames *frames, uint32_t index)
{
	static char room[STRING_BYTES_MAX + 1];
	uint64_t word = python_word(frames, index, 1, room);
	uint32_t bytes;

	ck_assert_uint_eq(word & STACK_TEXT_MASK, STACK_TEXT);
	return strings_get(recorder_arena, (uint32_t)word, &bytes);
}

START_TEST(frames_have_names_and_lines)
{
	struct python_frames frames;

	ck_assert_uint_ne(read_inside(&frames), 0);
	ck_assert_uint_eq(frames.count, 2);
	ck_assert_str_eq(text_of(&frames, 0), "Page.render /srv/my app.py:12");
	ck_assert_str_eq(text_of(&frames, 1), "Page.render /srv/my app.py:10");
	frames.at[0] = 6;
	ck_assert_str_eq(text_of(&frames, 0), "Page.render /srv/my app.py:11");
	frames.at[0] = 8;
	ck_assert_str_eq(text_of(&frames, 0), "Page.render /srv/my app.py:0");
	frames.at[0] = (uint64_t)-2;
	ck_assert_str_eq(text_of(&frames, 0), "Page.render /srv/my app.py:10");
}
END_TEST

START_TEST(names_may_have_any_letters)
{
	static const uint16_t wide[] = { 'a', 0xe9, 0x4e16 };
	struct python_frames frames;

	put(name, PYTHON_TEXT_LENGTH, 3);
	put_half(name, PYTHON_TEXT_STATE, 2 << PYTHON_TEXT_UNIT_SHIFT | PYTHON_TEXT_IS_COMPACT);
	memcpy(name + PYTHON_TEXT_OTHER, wide, sizeof(wide));
	read_inside(&frames);
	ck_assert_str_eq(text_of(&frames, 0), "a\xc3\xa9\xe4\xb8\x96 /srv/my app.py:12");
}
END_TEST

START_TEST(the_digest_says_what_the_frames_say)
{
	uint64_t before = digest_now();

	ck_assert_uint_eq(digest_now(), before);
	make_frame(inner, inner_code, 6, outer);
	ck_assert_uint_ne(digest_now(), before);
	make_frame(inner, inner_code, 4, outer);
	ck_assert_uint_eq(digest_now(), before);
	/* Another function where this one was. */
	make_text(name, "Page.sender", 79);
	ck_assert_uint_ne(digest_now(), before);
}
END_TEST

START_TEST(a_frame_that_is_left_is_passed_over)
{
	struct python_frames frames;

	put_half(inner, PYTHON_FRAME_OPERANDS, 0);
	put(inner, PYTHON_FRAME_CODE, 8); /* gone */
	read_inside(&frames);
	ck_assert_uint_eq(frames.count, 1);
	ck_assert_uint_eq(frames.code[0], at(outer_code));
	/* Nor one whose code nobody refers to any more. */
	put(outer_code, 0, 0);
	ck_assert_uint_eq(digest_now(), 0);
}
END_TEST

START_TEST(an_entry_elsewhere_is_not_read)
{
	static _Alignas(8) uint64_t entry[3];
	uint64_t low = at(&low) - 64;

	entry[1] = at(inner);
	put(state, PYTHON_STATE_ENTRY, at(entry));
	ck_assert_uint_eq(python_frames(low, 32, NULL), 0);
}
END_TEST

/* A signal comes between the end of the frame's memory and the moment at which it is forgotten. */
START_TEST(a_frame_that_is_unmapped_is_not_read)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t chunk[2] = { 0, sizeof(inner) };

	munmap(page, 4096);
	ck_assert_uint_eq(read_frame(at(page), NULL), 0);
	put(state, PYTHON_STATE_CHUNK, at(chunk));
	ck_assert_uint_eq(read_frame(at(page), NULL), 0);
	ck_assert_uint_ne(digest_now(), 0);
	put(state, PYTHON_STATE_CHUNK, 0);
}
END_TEST

START_TEST(an_interpreter_that_ends_is_not_read)
{
	ck_assert_uint_ne(digest_now(), 0);
	put(_PyRuntime, PYTHON_RUNTIME_ENDS, at(state));
	ck_assert_uint_eq(digest_now(), 0);
}
END_TEST

/* --- Other threads ---------------------------------------------------------------------------- */

static struct python_copy copy;

/* Runs on a thread that has not started the interpreter. */
static void on_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, function, argument), 0);
	pthread_join(thread, NULL);
}

static void be_of_interpreter(void)
{
	pthread_setspecific(key, state);
	put(state, PYTHON_STATE_THREAD, (uint64_t)pthread_self());
}

static uint64_t read_copied(uint64_t frame, struct python_frames *frames)
{
	*frames = (struct python_frames){ .copy = &copy };
	return read_frame(frame, frames);
}

static void *read_names(void *texts)
{
	struct python_frames frames;
	uint64_t digest;

	be_of_interpreter();
	digest = read_copied(at(inner), &frames);
	ck_assert_uint_ne(digest, 0);
	ck_assert(frames.is_copied);
	ck_assert_uint_eq(frames.count, 2);
	for (uint32_t i = 0; i < 2; i++)
		strcpy(((char(*)[STRING_BYTES_MAX + 1]) texts)[i], text_of(&frames, i));
	/* The same without the frames, in room that is borrowed. */
	ck_assert_uint_eq(read_frame(at(inner), NULL), digest);
	make_frame(inner, inner_code, 6, outer);
	ck_assert_uint_ne(read_frame(at(inner), NULL), digest);
	return NULL;
}

static const struct {
	uint32_t unit; /* bytes a character; 0 = ASCII */
	uint32_t length;
	bool has_window; /* frames are in memory that is copied as one */
} texts[] = {
	/* 0 */ { 0, 11, false },
	/* 1 */ { 0, 11, true },
	/* 2 */ { 2, 3, true },
	/* 3: the last ones of them */ { 0, 300, true },
	/* 4 */ { 4, 200, false },
	/* 5 */ { 0, 0, true },
};

START_TEST(other_threads_say_the_same)
{
	static _Alignas(8) char long_name[2048], chunk[512];
	static char said[2][STRING_BYTES_MAX + 1];
	struct python_frames frames;
	uint32_t unit = texts[_i].unit ? texts[_i].unit : 1;

	put(long_name, PYTHON_TEXT_LENGTH, texts[_i].length);
	put_half(long_name, PYTHON_TEXT_STATE,
		 unit << PYTHON_TEXT_UNIT_SHIFT | PYTHON_TEXT_IS_COMPACT |
			 (texts[_i].unit ? 0 : PYTHON_TEXT_IS_ASCII));
	for (uint32_t i = 0; i < texts[_i].length; i++)
		long_name[(texts[_i].unit ? PYTHON_TEXT_OTHER : PYTHON_TEXT_ASCII) + i * unit] =
			(char)('a' + i % 26);
	put(inner_code, PYTHON_CODE_NAME, at(long_name));
	if (texts[_i].has_window) {
		make_frame(chunk + 256, outer_code, 0, NULL);
		memcpy(outer, chunk + 256, PYTHON_FRAME_BYTES);
		put(state, PYTHON_STATE_CHUNK, at(chunk));
		put(state, PYTHON_STATE_TOP, at(chunk + 256 + PYTHON_FRAME_BYTES));
		put(chunk, PYTHON_CHUNK_BYTES, sizeof(chunk));
		make_frame(inner, inner_code, 4, chunk + 256);
	}
	read_inside(&frames);
	ck_assert(!frames.is_copied);
	char mine[2][STRING_BYTES_MAX + 1];
	for (uint32_t i = 0; i < 2; i++)
		strcpy(mine[i], text_of(&frames, i));
	on_thread(read_names, said);
	ck_assert_str_eq(said[0], mine[0]);
	ck_assert_str_eq(said[1], mine[1]);
}
END_TEST

static void *read_one_after_the_other(void *other_name)
{
	struct python_frames frames;

	be_of_interpreter();
	for (int i = 0; i < 2; i++) {
		put(inner_code, PYTHON_CODE_NAME, at(i ? other_name : name));
		ck_assert_uint_ne(read_copied(at(inner), &frames), 0);
		ck_assert_str_eq(text_of(&frames, 0),
				 i ? "draw /srv/my app.py:12" : "Page.render /srv/my app.py:12");
	}
	return NULL;
}

/* A function's memory may become another one's, which is called after its own name. */
START_TEST(a_word_is_of_the_function_that_is_there)
{
	static _Alignas(8) char other_name[128];
	struct python_frames frames;

	make_text(other_name, "draw", 79);
	read_inside(&frames);
	ck_assert_str_eq(text_of(&frames, 0), "Page.render /srv/my app.py:12");
	put(inner_code, PYTHON_CODE_NAME, at(other_name));
	ck_assert_str_eq(text_of(&frames, 0), "draw /srv/my app.py:12");
	on_thread(read_one_after_the_other, other_name);
}
END_TEST

static void *read_what_is_gone(void *page)
{
	struct python_frames frames;

	be_of_interpreter();
	/* The inner frame, the memory of frames, a function, a name, lines, and the state. */
	ck_assert_uint_eq(read_copied(at(page), &frames), 0);
	put(state, PYTHON_STATE_CHUNK, at(page));
	put(state, PYTHON_STATE_TOP, at(page) + 512);
	ck_assert_uint_ne(read_copied(at(inner), &frames), 0);
	ck_assert_uint_eq(frames.count, 2);
	make_frame(outer, page, 0, NULL);
	ck_assert_uint_ne(read_copied(at(inner), &frames), 0);
	ck_assert_uint_eq(frames.count, 1);
	make_frame(inner, page, 0, NULL);
	ck_assert_uint_eq(read_copied(at(inner), &frames), 0);
	make_frame(inner, inner_code, 4, NULL);
	put(inner_code, PYTHON_CODE_NAME, at(page));
	ck_assert_uint_ne(read_copied(at(inner), &frames), 0);
	ck_assert_uint_eq(python_word(&frames, 0, 1, (char[STRING_BYTES_MAX + 1]){ 0 }), 0);
	put(inner_code, PYTHON_CODE_NAME, at(name));
	put(inner_code, PYTHON_CODE_LINES, at(page));
	ck_assert_uint_eq(python_word(&frames, 0, 1, (char[STRING_BYTES_MAX + 1]){ 0 }), 0);
	pthread_setspecific(key, page);
	ck_assert_uint_eq(read_copied(at(inner), &frames), 0);
	return NULL;
}

START_TEST(what_is_taken_away_from_other_threads_is_not_read)
{
	/* Unmapped, it might become the thread's stack. */
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	on_thread(read_what_is_gone, page);
	munmap(page, 4096);
}
END_TEST

static void *read_of_another(void *unused)
{
	struct python_frames frames;

	(void)unused;
	pthread_setspecific(key, state);
	ck_assert_uint_eq(read_copied(at(inner), &frames), 0);
	return NULL;
}

START_TEST(a_state_of_another_thread_is_not_read)
{
	on_thread(read_of_another, NULL);
}
END_TEST

START_TEST(others_than_the_known_version_are_not_read)
{
	ck_assert(python_is_read);
	Py_Version = UINT32_C(0x030c02f0);
	python_start();
	ck_assert(!python_is_read);
	Py_Version = UINT32_C(0x030b02a1); /* before the first release */
	python_start();
	ck_assert(!python_is_read);
	Py_Version = UINT32_C(0x030b09f0);
	put(PyCode_Type, PYTHON_TYPE_SIZE, PYTHON_CODE_INSTRUCTIONS + 16);
	python_start();
	ck_assert(!python_is_read);
	put(PyCode_Type, PYTHON_TYPE_SIZE, PYTHON_CODE_INSTRUCTIONS);
	python_start();
	ck_assert(python_is_read);
	recorder_options.python = 0;
	python_start();
	ck_assert(!python_is_read);
}
END_TEST

static __attribute__((noinline)) uint32_t hook(void)
{
	struct self *self = self_begin(__builtin_frame_address(0));
	uint32_t stack =
		stack_capture(self, __builtin_return_address(0), __builtin_frame_address(0));

	self_end(self);
	return stack;
}

static __attribute__((noinline)) uint32_t called(void)
{
	uint32_t stack = hook();

	__asm__ volatile("" : : : "memory");
	return stack;
}

static __attribute__((noinline)) uint32_t run_inside(void)
{
	uint64_t entry[3] = { 0, at(inner), 0 };
	uint32_t stack;

	put(state, PYTHON_STATE_ENTRY, at(entry));
	stack = called();
	__asm__ volatile("" : : "r"(entry) : "memory");
	return stack;
}

START_TEST(frames_come_between_those_of_native_code)
{
	uint32_t stacks[4], count;
	const uint64_t *words;

	for (int i = 0; i < 4; i++) {
		make_frame(inner, inner_code, i == 2 ? 6 : 4, outer);
		stacks[i] = run_inside();
	}
	ck_assert_uint_eq(stacks[1], stacks[0]);
	ck_assert_uint_ne(stacks[2], stacks[0]);
	ck_assert_uint_eq(stacks[3], stacks[0]);
	words = stacks_get(recorder_arena, stacks[0], &count);
	ck_assert_uint_gt(count, 4);
	ck_assert(words[0] - at(called) < 256);
	ck_assert_uint_eq(words[1] & STACK_TEXT_MASK, STACK_TEXT);
	ck_assert_uint_eq(words[2] & STACK_TEXT_MASK, STACK_TEXT);
	ck_assert(words[3] - at(run_inside) < 256);
}
END_TEST

SUITE()
{
	FIXTURE(setup, recording_end);
	TEST(frames_have_names_and_lines);
	TEST(names_may_have_any_letters);
	TEST(the_digest_says_what_the_frames_say);
	TEST(a_frame_that_is_left_is_passed_over);
	TEST(an_entry_elsewhere_is_not_read);
	TEST(a_frame_that_is_unmapped_is_not_read);
	TEST(an_interpreter_that_ends_is_not_read);
	EACH(other_threads_say_the_same, texts);
	TEST(a_word_is_of_the_function_that_is_there);
	TEST(what_is_taken_away_from_other_threads_is_not_read);
	TEST(a_state_of_another_thread_is_not_read);
	TEST(others_than_the_known_version_are_not_read);
	TEST(frames_come_between_those_of_native_code);
}
