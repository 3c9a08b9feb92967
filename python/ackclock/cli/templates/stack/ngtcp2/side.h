/* One side of a connection of ngtcp2. */
#ifndef SIDE_H
#define SIDE_H

#define STACK_IMPLEMENTATION
#include "ackclock_stack.h"
#include "parts.h"

#include <ngtcp2/version.h>
#include <ngtcp2_conn.h>

enum { TAG = 16, IV = 12, SECRET = 32, IDENTIFIER = 8, STREAMS = 100, CHUNK = 1 << 16 };
/* The messages of a handshake with one certificate in bytes, and the length in front of each. */
enum { HELLO = 300, SERVER_HELLO = 122, SERVER_FLIGHT = 1000, FINISHED = 36, HEAD = 4, MOST_PARAMETERS = 256 };
/* The bytes around the content of a datagram: short header, longest number, type, length and tag. */
enum { AROUND = 1 + IDENTIFIER + 4 + 1 + 2 + TAG };

/* Clocks never stand near zero. */
#define START NGTCP2_SECONDS
#define MOST_WINDOW ((uint64_t)1 << 60)

/* A message under way. */
struct message {
	uint8_t at[SERVER_FLIGHT + MOST_PARAMETERS];
	size_t length;
};

struct stream {
	int64_t number;
	/* Bytes that ngtcp2 has not taken. */
	uint64_t waiting;
	bool ends, ended;
};

struct stack_side {
	struct stack_settings settings;
	struct stack_ledger ledger;
	ngtcp2_conn *connection;
	uint64_t random, identifiers;
	struct message messages[2];
	bool connected, over;
	QUEUE(struct stream) streams;
	struct datagrams waiting;
	struct events events;

	/* The functions of the controller. */
	ngtcp2_cc controller;
	/* Packets of the acknowledgement and losses that were reported, and a loss event that was not. */
	size_t acknowledged, lost;
	struct stack_report event;
	struct stack_decisions before;
	bool has_event;

	/* When packets left last, and their bytes. */
	uint64_t burst_at;
	size_t burst;
};

static uint8_t zeros[CHUNK];
static const uint8_t identifiers[2][IDENTIFIER] = {
	{ 0x5e, 0x5e, 0x5e, 0x5e, 0x5e, 0x5e, 0x5e, 0x5e },
	{ 0xc1, 0xc1, 0xc1, 0xc1, 0xc1, 0xc1, 0xc1, 0xc1 },
};

static void fail(struct stack_side *side, int error)
{
	if (side->over)
		return;
	side->over = true;
	tell(&side->events, (struct stack_event){ .kind = STACK_LOST, .why = ngtcp2_strerror(error) });
}

/* SplitMix64 (Steele, Lea and Flood 2014, figure 16). */
static void draw(struct stack_side *side, uint8_t *at, size_t length)
{
	for (size_t i = 0; i < length; i += 8) {
		uint64_t mixed = side->random += 0x9e3779b97f4a7c15;
		mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
		mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
		mixed ^= mixed >> 31;
		memcpy(at + i, &mixed, length - i < 8 ? length - i : 8);
	}
}

#endif
