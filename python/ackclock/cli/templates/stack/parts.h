/* Memory, numbers, sets of numbers and the queue of events for a transport. */
#ifndef PARTS_H
#define PARTS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ackclock_stack.h"

/* Integers first..last, sorted and apart. */
struct ranges {
	struct { uint64_t first, last; } *at;
	size_t count, room;
};

/* A queue that grows. */
#define QUEUE(type) struct { type *at; size_t head, count, room; }
#define PUSH(queue, value)                                                                              \
	do {                                                                                            \
		if ((queue).count == (queue).room) {                                                    \
			(queue).room = (queue).room ? 2 * (queue).room : 64;                            \
			(queue).at = resized((queue).at, (queue).room * sizeof *(queue).at);            \
		}                                                                                       \
		(queue).at[(queue).count++] = (value);                                                  \
	} while (0)

/* Gives up the places before the head once they are half of all. */
#define TRIM(queue)                                                                                     \
	do {                                                                                            \
		if ((queue).head > (queue).count / 2) {                                                 \
			(queue).count -= (queue).head;                                                  \
			memmove((queue).at, (queue).at + (queue).head, (queue).count * sizeof *(queue).at); \
			(queue).head = 0;                                                               \
		}                                                                                       \
	} while (0)

static inline void *resized(void *at, size_t bytes)
{
	void *moved = realloc(at, bytes);
	if (!moved)
		abort();
	return moved;
}

/* Events that the application has not taken yet, and the last one that it took. */
struct events {
	QUEUE(struct stack_event);
};

static inline void tell(struct events *events, struct stack_event event)
{
	PUSH(*events, event);
}

/* Takes the next event (stack_poll). The bytes of a datagram, which are of malloc, stay until the next call. */
static inline bool take(struct events *events, struct stack_event *event)
{
	if (events->head > 0) {
		free((void *)events->at[events->head - 1].datagram);
		events->at[events->head - 1].datagram = NULL;
	}
	if (events->head == events->count) {
		events->head = events->count = 0;
		return false;
	}
	*event = events->at[events->head++];
	return true;
}

static inline void free_events(struct events *events)
{
	for (size_t i = 0; i < events->count; i++)
		free((void *)events->at[i].datagram);
	free(events->at);
}

/* As many datagrams wait for the controller as in quiche. */
enum { MOST_DATAGRAMS = 1000 };

struct datagram { uint8_t *at; size_t length; };

struct datagrams {
	QUEUE(struct datagram);
};

/* Keeps a copy of a datagram. The oldest goes for it where too many wait. */
static inline void keep(struct datagrams *waiting, const uint8_t *datagram, size_t length)
{
	struct datagram kept = { resized(NULL, length), length };
	memcpy(kept.at, datagram, length);
	if (waiting->count - waiting->head == MOST_DATAGRAMS)
		free(waiting->at[waiting->head++].at);
	PUSH(*waiting, kept);
}

static inline void free_datagrams(struct datagrams *waiting)
{
	for (size_t i = waiting->head; i < waiting->count; i++)
		free(waiting->at[i].at);
	free(waiting->at);
}

static inline void put(uint8_t *at, uint64_t number)
{
	for (int i = 7; i >= 0; i--, number >>= 8)
		at[i] = (uint8_t)number;
}

static inline uint64_t get(const uint8_t *at)
{
	uint64_t number = 0;
	for (int i = 0; i < 8; i++)
		number = number << 8 | at[i];
	return number;
}

/* Adds first..last. Returns how many of them are new. */
static inline uint64_t add(struct ranges *of, uint64_t first, uint64_t last)
{
	uint64_t added = last - first + 1;
	size_t from = of->count, to;
	while (from > 0 && of->at[from - 1].last + 1 >= first)
		from--;
	for (to = from; to < of->count && of->at[to].first <= last + 1; to++) {
		uint64_t begin = of->at[to].first > first ? of->at[to].first : first;
		uint64_t end = of->at[to].last < last ? of->at[to].last : last;
		if (begin <= end)
			added -= end - begin + 1;
	}
	if (to > from) {
		first = of->at[from].first < first ? of->at[from].first : first;
		last = of->at[to - 1].last > last ? of->at[to - 1].last : last;
	}
	if (of->count == of->room) {
		of->room = of->room ? 2 * of->room : 16;
		of->at = resized(of->at, of->room * sizeof *of->at);
	}
	memmove(&of->at[from + 1], &of->at[to], (of->count - to) * sizeof *of->at);
	of->count += from + 1 - to;
	of->at[from].first = first;
	of->at[from].last = last;
	return added;
}

#endif
