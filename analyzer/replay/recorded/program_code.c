/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes instructions and regions; program_code.h has the contract.
 *
 * While a region is open, its `end` holds the first instruction after its ENTER. A region that
 * turns out too short for an ENTER to pay is taken out again, which moves the few instructions in
 * it.
 */
#include "program_code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { REGION_INSTRS_MIN = 4 };

void code_emit(struct code *code, enum instr_what what, uint32_t value, uint32_t operand)
{
	struct program *program = code->program;
	assert(value < PROGRAM_VALUES_MAX);
	program->code = memory_grow(program->code, &code->instr_room,
				    (size_t)program->instr_count + 1, sizeof(*program->code));
	program->code[program->instr_count++] =
		(struct instr){ .what = what, .slot = value, .operand = operand };
	assert(program->instr_count < RUNS_END);
}

static uint32_t constant_add(struct code *code, double constant)
{
	struct program *program = code->program;
	program->constants =
		memory_grow(program->constants, &code->constant_room,
			    (size_t)code->constant_count + 1, sizeof(*program->constants));
	program->constants[code->constant_count] = constant;
	return code->constant_count++;
}

void code_set(struct code *code, uint32_t value, uint64_t at_ns)
{
	code_emit(code, INSTR_SET, value, constant_add(code, (double)at_ns));
}

void code_add(struct code *code, uint32_t value, int64_t add_ns)
{
	if (add_ns == 0)
		return;
	if (add_ns > 0 && add_ns <= UINT32_MAX)
		code_emit(code, INSTR_ADD, value, (uint32_t)add_ns);
	else
		code_emit(code, INSTR_WIDE, value, constant_add(code, (double)add_ns));
}

void code_run(struct code *code, uint32_t class, uint32_t value, uint64_t length_ns)
{
	code->runs = memory_grow(code->runs, &code->run_room, (size_t)code->run_count + 1,
				 sizeof(*code->runs));
	code->runs[code->run_count++] = (struct run){ class, code->program->instr_count };
	if (length_ns <= UINT32_MAX)
		code_emit(code, INSTR_RUN, value, (uint32_t)length_ns);
	else
		code_emit(code, INSTR_WIDE, value, constant_add(code, (double)length_ns));
}

bool code_just_started(const struct code *code, uint32_t value, uint32_t from)
{
	const struct instr *last = &code->program->code[code->program->instr_count - 1];
	assert(code->program->instr_count > 0);
	return last->what == INSTR_COPY && last->slot == value && last->operand == from;
}

void code_take_back(struct code *code)
{
	assert(code->program->instr_count > 0);
	code->program->instr_count--;
}

static uint32_t region_open(struct code *code, uint32_t value)
{
	struct program *program = code->program;
	program->regions =
		memory_grow(program->regions, &code->region_room, (size_t)program->region_count + 1,
			    sizeof(*program->regions));
	code_emit(code, INSTR_ENTER, value, program->region_count);
	program->regions[program->region_count] = (struct region){ .end = program->instr_count };
	return program->region_count++;
}

/* Takes the ENTER at `at` out again: nothing but plain instructions has come after it. */
static void region_undo(struct code *code, uint32_t at)
{
	struct program *program = code->program;
	uint32_t left = program->instr_count - at - 1;
	memmove(&program->code[at], &program->code[at + 1], left * sizeof(*program->code));
	for (uint32_t i = code->run_count; i > 0 && code->runs[i - 1].at > at; i--)
		code->runs[i - 1].at--;
	program->instr_count--;
	program->region_count--;
}

static void region_close(struct code *code, uint32_t region)
{
	struct program *program = code->program;
	uint32_t first = program->regions[region].end;
	bool is_last = region + 1 == program->region_count;
	if (is_last && program->instr_count - first < REGION_INSTRS_MIN)
		region_undo(code, first - 1);
	else
		program->regions[region].end = program->instr_count;
}

void code_stream_begin(struct code *code, uint32_t value, bool is_region)
{
	code->streams = memory_grow(code->streams, &code->stream_room, code->stream_count + 1,
				    sizeof(*code->streams));
	struct stream *stream = &code->streams[code->stream_count++];
	*stream = (struct stream){ .value = value,
				   .begin = code->program->instr_count,
				   .whole = NO_INDEX };
	for (int level = 0; level < BLOCK_LEVELS; level++)
		stream->blocks[level] = NO_INDEX;
	if (is_region)
		stream->whole = region_open(code, value);
}

static uint32_t block_instrs(int level)
{
	return (uint32_t)BLOCK_INSTRS << (BLOCK_SHIFT * level);
}

/* Whether a level's block has to end here, or its first one to begin. */
static bool block_is_due(const struct code *code, const struct stream *stream, int level)
{
	uint32_t begin = stream->blocks[level] == NO_INDEX
				 ? stream->begin
				 : code->program->regions[stream->blocks[level]].end;
	return code->program->instr_count - begin >= block_instrs(level);
}

/* Closes the blocks up to a level, the smaller ones within first. */
static void blocks_close(struct code *code, struct stream *stream, int level)
{
	for (int i = 0; i <= level; i++)
		if (stream->blocks[i] != NO_INDEX) {
			region_close(code, stream->blocks[i]);
			stream->blocks[i] = NO_INDEX;
		}
}

void code_stream_cut(struct code *code)
{
	assert(code->stream_count > 0);
	struct stream *stream = &code->streams[code->stream_count - 1];
	const struct instr *last = &code->program->code[code->program->instr_count - 1];
	/* A child that was just started may still turn out to need no clock of its own. */
	if (last->what == INSTR_COPY)
		return;
	int due = BLOCK_LEVELS - 1;
	while (due >= 0 && !block_is_due(code, stream, due))
		due--;
	blocks_close(code, stream, due);
	for (int level = due; level >= 0; level--)
		stream->blocks[level] = region_open(code, stream->value);
}

void code_stream_end(struct code *code)
{
	assert(code->stream_count > 0);
	struct stream *stream = &code->streams[code->stream_count - 1];
	blocks_close(code, stream, BLOCK_LEVELS - 1);
	if (stream->whole != NO_INDEX)
		region_close(code, stream->whole);
	code->stream_count--;
}

void code_finish(struct code *code, uint32_t class_count)
{
	struct program *program = code->program;
	assert(code->stream_count == 0);
	program->class_count = class_count;
	program->first_run = memory_new((size_t)class_count + 1, sizeof(*program->first_run));
	program->runs = memory_new((size_t)code->run_count + class_count, sizeof(*program->runs));
	for (uint32_t i = 0; i < code->run_count; i++)
		program->first_run[code->runs[i].class + 1]++;
	for (uint32_t i = 0; i < class_count; i++)
		program->first_run[i + 1] += program->first_run[i] + 1;
	uint32_t *next = memory_new(class_count, sizeof(*next));
	memcpy(next, program->first_run, class_count * sizeof(*next));
	for (uint32_t i = 0; i < code->run_count; i++)
		program->runs[next[code->runs[i].class]++] = code->runs[i].at;
	for (uint32_t i = 0; i < class_count; i++) {
		assert(next[i] + 1 == program->first_run[i + 1]);
		program->runs[next[i]] = RUNS_END;
	}
	free(next);
	free(code->runs);
	free(code->streams);
}
