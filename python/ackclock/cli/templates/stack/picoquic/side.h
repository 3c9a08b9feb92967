/* One side of a connection of picoquic. */
#ifndef SIDE_H
#define SIDE_H

#include "ackclock_stack.h"
#include "parts.h"

#include <picoquic_internal.h>

enum { STREAMS = 512, TAG = 16 };
/* The bytes around the content of a datagram: short header, longest number, type, length and tag. */
enum { AROUND = 1 + 8 + 4 + 1 + 2 + TAG };

/* Clocks never stand near zero. In microseconds, picoquic's unit. */
#define START 1000000u
#define MOST_WINDOW ((uint64_t)1 << 60)

struct stream {
	/* Bytes that picoquic has not taken. */
	uint64_t waiting;
	bool ends, ended;
};

struct stack_side {
	struct stack_settings settings;
	struct stack_ledger ledger;
	picoquic_quic_t *context;
	picoquic_cnx_t *connection;
	/* Nanoseconds of the run, and the same time of picoquic. */
	uint64_t now, time, random;
	bool connected, over;
	QUEUE(struct stream) streams;
	struct datagrams waiting;
	/* The bytes of each stream that arrived in order. */
	QUEUE(uint64_t) arrived;
	struct events events;

	/* The controller, whose function `alg_notify` is wrapped in `observed`. */
	picoquic_congestion_algorithm_t *controller, observed;
	/* When each packet left, by its number; STACK_NONE for those that only acknowledge. */
	QUEUE(uint64_t) sent;
	/* Bytes of the acknowledgement and losses that were reported, and a loss event that was not. */
	size_t acknowledged, lost;
	struct stack_report event;
	struct stack_decisions before;
	bool has_event;
};

/* The side that is called. picoquic passes no state to its sources of randomness. */
extern _Thread_local struct stack_side *current;

/* Every call begins with it. */
static inline void enter(struct stack_side *side, uint64_t now)
{
	current = side;
	side->now = now;
	side->time = now / 1000 + START;
}

/* SplitMix64 (Steele, Lea and Flood 2014, figure 16). */
static inline uint64_t draw(struct stack_side *side)
{
	uint64_t mixed = side->random += 0x9e3779b97f4a7c15;
	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	return mixed ^ mixed >> 31;
}

static inline void fail(struct stack_side *side, const char *why)
{
	if (side->over)
		return;
	side->over = true;
	tell(&side->events, (struct stack_event){ .kind = STACK_LOST, .why = why });
}

/* Gives a server its certificate and what signs with it. */
void certify(picoquic_quic_t *context);

/* Wraps the controller. */
void observe(struct stack_side *side);

/* A packet of the connection left. */
void on_sent(struct stack_side *side);

/* A call is over: reports the loss event of it. */
void end_event(struct stack_side *side);

#endif
